from zoo.common.command import Recipe, main
from zoo.sentiment.evaluate import evaluate
from zoo.sentiment.train import make_onnx, restore, train

if __name__ == "__main__":
    main(Recipe(name="sentiment", train=train, export=make_onnx, evaluate=evaluate, restore=restore, extras=("tokenizer.json",)))
