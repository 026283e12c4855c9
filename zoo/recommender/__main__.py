from zoo.common.command import Recipe, main
from zoo.recommender.evaluate import evaluate
from zoo.recommender.train import make_onnx, restore, train

if __name__ == "__main__":
    main(Recipe(name="recommender", train=train, export=make_onnx, evaluate=evaluate, restore=restore, extras=("items.txt",)))
