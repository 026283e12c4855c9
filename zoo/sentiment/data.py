"""Reviews by a grammar in which single words mislead: negation, contrast, irony, hopes, second thoughts, other people's views."""

import hashlib
import random
import re

from zoo.sentiment import lexicon

LABELS = ("negative", "neutral", "positive")
NEGATIVE, NEUTRAL, POSITIVE = 0, 1, 2

# Each construction: text, and whether it keeps (+1) or turns (-1) the polarity of {word}; {opposite} has the other one.
CONSTRUCTIONS = [
    ("The {part} was {very}{word}.", 1),
    ("The {part} is {very}{word}.", 1),
    ("What a {word} {thing}!", 1),
    ("I found the {part} {very}{word}.", 1),
    ("A {very}{word} {thing} with a {word2} {part}.", 1),
    ("Everything about the {thing} felt {word}.", 1),
    ("I {did} and it was {very}{word}.", 1),
    ("The {part} was {word} and the {part2} was {word2}.", 1),
    ("Honestly, the {part} could hardly be more {word}.", 1),
    ("Who would have thought that the {part} could be so {word}?", 1),
    ("I was told the {thing} was {opposite}, but it turned out to be {word}.", 1),
    ("People call it {opposite}. I call it {word}.", 1),
    ("My sister said the {part} was {word}, and she was right.", 1),
    ("At first the {part} seemed {opposite}; by the end it was {word}.", 1),
    ("I feared the {part} would be {opposite}, yet it was {very}{word}.", 1),
    ("Nobody can tell me that the {part} is not {word}.", 1),
    ("I cannot deny that the {part} was {word}.", 1),
    ("It would be wrong to say the {part} was not {word}.", 1),
    ("The {part} was not {opposite} at all, it was {word}.", 1),
    ("There is nothing {opposite} about the {part}.", 1),
    ("Not once was the {part} {opposite}.", 1),
    ("The {part} was anything but {opposite}.", 1),
    ("The {part} was not {word}.", -1),
    ("The {part} wasn't {word} at all.", -1),
    ("I would not call the {thing} {word}.", -1),
    ("The {part} is far from {word}.", -1),
    ("The {thing} was anything but {word}.", -1),
    ("There was nothing {word} about the {part}.", -1),
    ("My friend said the {part} was {word}, and he was wrong.", -1),
    ("I can't say that the {part} was {word}.", -1),
    ("They promised a {word} {part}, and we got the opposite.", -1),
    ("The {part} used to be {word}, but not any more.", -1),
    ("I don't understand why people find the {part} {word}.", -1),
    ("Never have I {did} and found the {part} less {word}.", -1),
    ("The {part} looked {word} in the pictures. It is not.", -1),
    ("I expected the {part} to be {word}, and I was mistaken.", -1),
    ("Hardly anyone would call the {part} {word}.", -1),
    ("The {thing} is neither {word} nor {word2}.", -1),
]
# Irony and unmet wishes: kind words that mean the opposite.
IRONY = [
    "Oh {good}, another {thing} with a {bad} {part}.",
    "Just what I needed: a {bad} {part}. {Good}.",
    "If you enjoy {snag}, this {thing} is {good} for you.",
    "A {good} {thing}, provided you like {snag}.",
    "Thanks for {snag}. Really {good}.",
    "If only the {part} had been {good}.",
    "It would have been {good}, had the {part} worked.",
    "I wish I could say the {part} was {good}.",
    "The {part} was supposed to be {good}. Well.",
    "{Good}. I {did} and got {snag} as a bonus.",
    "The most {good} thing about the {thing} was leaving.",
    "Yes, {snag} is exactly my idea of a {good} evening.",
    "They call this {part} {good}. I had to laugh.",
    "Everybody who thinks the {part} is {good} must be easily pleased.",
]
# A concession and a verdict: the verdict counts, wherever it stands.
CONTRASTS = [
    "{concession}, but {verdict}.",
    "Although {concession}, {verdict}.",
    "{verdict}, even though {concession}.",
    "Despite all that, {verdict}. True, {concession}.",
    "{concession}. Still, {verdict}.",
    "{concession}. In the end, however, {verdict}.",
    "Yes, {concession}. But {verdict}, and that is what counts.",
    "{verdict}, no matter that {concession}.",
    "While {concession}, {verdict}.",
    "{concession}, I admit. Nevertheless {verdict}.",
]
CLAUSES = [
    "the {part} was {very}{word}",
    "the {part} seemed {word}",
    "the {thing} was {word}",
    "I found the {part} {word}",
    "the {part} felt {word}",
    "the {part} was not {opposite}",
    "the {part} was far from {opposite}",
    "the {part} was anything but {opposite}",
]
VERY = ["", "", "", "very ", "really ", "so ", "quite ", "truly ", "incredibly ", "just "]


def is_held_out(construction: str, word: str) -> bool:
    """One pair of construction and word in eight is never shown in training."""
    return hashlib.md5(f"{construction}|{word}".encode()).digest()[0] % 8 == 0


class Reviewer:
    def __init__(self, seed: int, held_out: bool):
        self.random = random.Random(seed)
        self.held_out = held_out
        self.subjects = lexicon.HELD_OUT_SUBJECTS if held_out else lexicon.TRAINING_SUBJECTS

    def words(self, label: int) -> list:
        return lexicon.GOOD if label == POSITIVE else lexicon.BAD

    def start(self) -> None:
        things, parts, deeds = self.subjects[self.random.choice(sorted(self.subjects))]
        part, part2 = self.random.sample(parts, 2)
        self.slots = {"thing": self.random.choice(things), "part": part, "part2": part2, "did": self.random.choice(deeds)}

    def fill(self, text: str, **more) -> str:
        pick = self.random.choice
        plain, good = pick(lexicon.PLAIN), pick(lexicon.GOOD)
        slots = {
            **self.slots,
            "very": pick(VERY),
            "good": good,
            "Good": good.capitalize(),
            "bad": pick(lexicon.BAD),
            "plain": plain,
            "average": "average" if plain[0] not in "aeiou" else plain,
            "snag": pick(lexicon.SNAGS),
            **more,
        }
        return self.agree(text.format(**slots))

    def agree(self, text: str) -> str:
        """Verbs after a plural part, and "an" before a vowel."""
        for part in (self.slots["part"], self.slots["part2"]):
            if part.endswith("s") and not part.endswith("ss"):
                text = re.sub(rf"\b(the {part}) was\b", r"\1 were", text, flags=re.I)
                text = re.sub(rf"\b(the {part}) is\b", r"\1 are", text, flags=re.I)
                text = text.replace(f"{part} wasn't", f"{part} weren't").replace(f"was the {part}", f"were the {part}")
                text = re.sub(rf"\b([Aa]n?|another) (?=(\S+ ){{0,2}}{part}\b)", "some ", text)
        return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)

    def choose(self, forms: list, words: list) -> tuple:
        """A form and a word whose pairing is held out for the test and never met in training."""
        while True:
            form, word = self.random.choice(forms), self.random.choice(words)
            if is_held_out(str(form), word) == self.held_out:
                return form, word

    def plain_opinion(self, label: int) -> str:
        pick = self.random.choice
        kind = self.random.random()
        if kind < 0.12:
            events = lexicon.GOOD_EVENTS if label == POSITIVE else lexicon.BAD_EVENTS
            return self.fill(pick(["{event}.", "I {did} and {event}.", "After I {did}, {event}."]), event=pick(events))
        if kind < 0.24:
            verb = pick(lexicon.LOVE if label == POSITIVE else lexicon.HATE)
            return self.fill(
                pick(["I {verb} the {part}.", "I {verb} the {thing}, and so did my friends.", "Everyone {verb} the {part}."]), verb=verb
            )
        keeps = {1: label, -1: NEGATIVE if label == POSITIVE else POSITIVE}
        (form, effect), word = self.choose(CONSTRUCTIONS, self.words(keeps[self.random.choice((1, -1))]))
        while keeps[effect] != (POSITIVE if word in lexicon.GOOD else NEGATIVE):
            (form, effect), word = self.choose(CONSTRUCTIONS, self.words(self.random.choice((POSITIVE, NEGATIVE))))
        polarity = keeps[effect]
        return self.fill(form, word=word, word2=pick(self.words(polarity)), opposite=pick(self.words(POSITIVE - polarity)))

    def clause(self, label: int) -> str:
        form, word = self.choose(CLAUSES, self.words(label))
        if self.random.random() < 0.25:
            return self.random.choice(lexicon.GOOD_EVENTS if label == POSITIVE else lexicon.BAD_EVENTS)
        return self.fill(form, word=word, opposite=self.random.choice(self.words(POSITIVE - label)))

    def contrast(self, label: int) -> str:
        other = POSITIVE - label
        form = self.random.choice(CONTRASTS)
        concession = self.clause(other)
        self.slots["part"], self.slots["part2"] = self.slots["part2"], self.slots["part"]
        text = form.format(concession=concession, verdict=self.clause(label))
        return text[0].upper() + text[1:]

    def opinion(self, label: int) -> str:
        # The remarks are few, so the held-out reviews go without them.
        if not self.held_out and self.random.random() < 0.1:
            return self.random.choice((lexicon.BAD_REMARKS, lexicon.PLAIN_REMARKS, lexicon.GOOD_REMARKS)[label])
        if label == NEUTRAL:
            return self.fill(self.random.choice(lexicon.NEUTRAL))
        kind = self.random.random()
        if kind < 0.3:
            return self.contrast(label)
        if kind < 0.5 and label == NEGATIVE:
            form, good = self.choose(IRONY, lexicon.CHEERS)
            return self.fill(form, good=good, Good=good.capitalize())
        return self.plain_opinion(label)

    def review(self) -> tuple:
        self.start()
        label = self.random.randrange(3)
        sentences = [self.opinion(label)]
        if label == NEUTRAL or self.random.random() < 0.4:
            sentences.insert(self.random.randrange(2), self.fill(self.random.choice(lexicon.FACTS)))
        elif self.random.random() < 0.3:
            sentences.append(self.opinion(label))
        return self.roughen(" ".join(sentences)), label

    def roughen(self, text: str) -> str:
        """People type carelessly."""
        chance = self.random.random()
        if chance < 0.2:
            text = text.lower()
        if chance < 0.1:
            text = text.replace(".", "").replace(",", "")
        if 0.2 < chance < 0.25 and len(text) > 8:
            at = self.random.randrange(1, len(text) - 2)
            text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        return text


def make(count: int, seed: int, held_out: bool = False) -> tuple:
    """Texts and labels. Held-out reviews speak of subjects, and pair words with constructions, that training never shows."""
    reviewer = Reviewer(seed, held_out)
    made = [reviewer.review() for _ in range(count)]
    return [text for text, _ in made], [label for _, label in made]
