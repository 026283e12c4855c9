from zoo.common.command import Recipe, main
from zoo.digits.evaluate import evaluate
from zoo.digits.train import make_onnx, restore, train

if __name__ == "__main__":
    main(Recipe(name="digits", train=train, export=make_onnx, evaluate=evaluate, restore=restore))
