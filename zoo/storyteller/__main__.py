from zoo.common.command import Recipe, main
from zoo.storyteller.decoder_files import FILES
from zoo.storyteller.evaluate import evaluate
from zoo.storyteller.train import make_onnx, restore, train

if __name__ == "__main__":
    main(Recipe(name="storyteller", train=train, export=make_onnx, evaluate=evaluate, restore=restore, extras=tuple(f"1/{name}" for name in ("tokenizer.json", *FILES))))
