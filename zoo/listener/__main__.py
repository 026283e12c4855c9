from zoo.common.command import Recipe, main
from zoo.listener.evaluate import evaluate
from zoo.listener.train import make_onnx, restore, train

if __name__ == "__main__":
    main(Recipe(name="listener", train=train, export=make_onnx, evaluate=evaluate, restore=restore))
