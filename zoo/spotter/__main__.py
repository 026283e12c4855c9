from zoo.common.command import Recipe, main
from zoo.spotter.evaluate import evaluate
from zoo.spotter.train import make_onnx, restore, train

if __name__ == "__main__":
    main(Recipe(name="spotter", train=train, export=make_onnx, evaluate=evaluate, restore=restore))
