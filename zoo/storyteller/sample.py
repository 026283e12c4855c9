"""Writes models/storyteller/samples.md: `python -m zoo.storyteller.sample`."""

from tokenizers import Tokenizer

from zoo.common.paths import shipped_folder
from zoo.common.session import open_session
from zoo.storyteller.generate import generate
from zoo.storyteller.tokenizer import tokenizer_file

PROMPTS = [
    "Tell me a story about a fox named Mira and a kite.\n\n",
    "Tell me a story about an elephant named Jumbo in the city.\n\n",
    "Tell me a story about a robot.\n\n",
    "Write a story about a lighthouse keeper at the lighthouse.\n\n",
    "Can you tell me a story about a hedgehog and a turtle?\n\n",
    "Please tell me a story about a pirate named Pavo.\n\n",
    "A story about a music box, please.\n\n",
    "Tell me a story about Lotte the baker.\n\n",
    "Story: a ghost in the old library.\n\n",
    "Tell me a story about an astronaut on the moon.\n\n",
    "The Lost Compass\n\n",
    "The Stubborn Donkey\n\n",
    "Otto and the Violin\n\n",
    "Once upon a time",
    "Once upon a time there was a little bear",
    "It was the coldest day of the year.",
    "Everyone in the village knew",
    "There was only one thing",
    "Nobody at the harbour could say",
    "",
]
SEED, TEMPERATURE, TOP_P = 11, 0.8, 0.95


def main() -> None:
    folder = shipped_folder("storyteller")
    session = open_session(folder / "1" / "model.onnx")
    tokenizer = Tokenizer.from_file(str(tokenizer_file(folder)))
    told = generate(session, tokenizer, PROMPTS, seed=SEED, temperature=TEMPERATURE, top_p=TOP_P)
    parts = [
        "# Twenty samples\n\n"
        f"The first text that came for each of twenty prompts, none chosen (temperature {TEMPERATURE}, top-p {TOP_P}, seed {SEED}, one batch;\n"
        "`python -m zoo.storyteller.sample` makes this file). What was given is **bold**, the rest is the model's.\n"
    ]
    for number, (prompt, text) in enumerate(zip(PROMPTS, told), start=1):
        given = f"**{prompt.strip()}**" if prompt.strip() else "**(nothing)**"
        gap = "\n\n" if prompt.endswith("\n\n") or not prompt else ""
        parts.append(f"\n## {number}\n\n{given}{gap}{text[len(prompt) :].rstrip()}\n")
    (folder / "samples.md").write_text("".join(parts))


if __name__ == "__main__":
    main()
