"""The storyteller's tools: a cast and a stage drawn at random, and templates that become sentences.

In a template `[a|b|c]` is one of several wordings (they nest), `{slot}` looks something up, and `{^slot}` begins with a
capital. `{he}` speaks of the hero; `{friend.he}` and `{elder.his}` of the others.
"""

from dataclasses import dataclass
import random
import re

from zoo.storyteller import places, things, wide_world, world

PRONOUNS = {
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself", "hers": "hers"},
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself", "hers": "his"},
}
CHOICE = re.compile(r"\[([^\[\]]*)\]")
SLOT = re.compile(r"\{(\^?)([a-z_.0-9]+)\}")


@dataclass
class Person:
    name: str
    kind: str
    sex: str
    look: str = ""

    def slots(self, prefix: str) -> dict:
        words = {f"{prefix}.{key}": value for key, value in PRONOUNS[self.sex].items()}
        return {prefix: self.name, f"{prefix}.kind": self.kind, f"{prefix}.look": self.look, **words}


class Teller:
    """One story's world. Plots call `say` for sentences and `beat` to leave a trace of the skeleton they follow."""

    def __init__(self, seed: int, wide_share: float = 0.0):
        self.random = random.Random(seed)
        # The wider world is drawn from its own source, so that stories without it stay what they were.
        self.wide_random = random.Random(f"wide {seed}")
        self.is_wide = self.wide_random.random() < wide_share
        self.beats = []
        self.mentioned = set()
        pick = self.random.choice
        self.hero = self.person()
        self.friend = self.person(not_names={self.hero.name}, not_kind=self.hero.kind)
        sex = pick(("she", "he"))
        kind = pick(world.OLD[sex])
        self.elder = Person(f"{{his}} {kind}" if kind.startswith("grand") else f"the {kind}", kind, sex)
        self.trait = pick(sorted(world.TRAITS))
        self.thing, self.other_thing = self.random.sample(things.THINGS, 2)
        self.season = pick(sorted(world.SEASONS))
        near = [place for place in places.PLACES if self.season == "winter" or place.name != "snowy valley"]
        self.place, self.other_place = self.random.sample(near, 2)
        if self.goes_wide():
            self.place = self.wide_random.choice(wide_world.PLACES)
        if self.goes_wide():
            self.thing = self.wide_random.choice(wide_world.THINGS)
        spots = self.random.sample(self.place.spots, 3)
        look = pick(self.thing.looks)
        shows, fault, strength = world.TRAITS[self.trait]
        self.words = {
            **self.hero.slots("hero"),
            **self.friend.slots("friend"),
            **self.elder.slots("elder"),
            **PRONOUNS[self.hero.sex],
            "trait": self.trait,
            "shows": shows,
            "fault": fault,
            "strength": strength,
            "thing": self.thing.name,
            "look": look,
            "a_thing": f"a {look} {self.thing.name}",
            "the_thing": f"the {look} {self.thing.name}",
            "use": self.thing.use,
            "breaks": self.thing.breaks,
            "mended": self.thing.mended,
            "gift": self.thing.gift,
            "other_thing": self.other_thing.name,
            "place": f"the {self.place.name}",
            "at_place": self.place.at,
            "other_place": f"the {self.other_place.name}",
            "at_other_place": self.other_place.at,
            "spot": spots[0],
            "spot2": spots[1],
            "spot3": spots[2],
            "smell": pick(self.place.smells),
            "sight": pick(self.place.sights),
            "other_sight": pick(self.other_place.sights),
            "other_sound": pick(self.other_place.sounds),
            "day": pick(world.SEASONS[self.season]),
            "season": self.season,
            "storm": pick(world.STORMS),
            "food": pick(world.FOODS),
        }

    def person(self, not_names=frozenset(), not_kind="") -> Person:
        sex = self.random.choice(("she", "he"))
        kinds = world.ANIMALS if self.random.random() < 0.62 else world.PEOPLE
        kind = self.random.choice(sorted(set(kinds) - {not_kind, "boy" if sex == "she" else "girl"}))
        # Made-up names teach the model to carry any name along, not only those it knows.
        if self.random.random() < 0.2:
            name = "".join(self.random.choice(world.SYLLABLES) for _ in range(self.random.choice((2, 2, 3)))).capitalize()
        else:
            name = self.random.choice(world.SHE if sex == "she" else world.HE)
        if name in not_names:
            return self.person(not_names, not_kind)
        look = self.random.choice(kinds[kind])
        if self.goes_wide():
            kind, look = self.wide_random.choice(wide_world.KINDS), self.wide_random.choice(wide_world.LOOKS)
        if self.goes_wide():
            name = self.wide_name()
        return Person(name, kind, sex, SLOT.sub(lambda slot: PRONOUNS[sex][slot[2]], look))

    def goes_wide(self) -> bool:
        return self.is_wide and self.wide_random.random() < 0.7

    def wide_name(self) -> str:
        """Any pronounceable string of four to eight letters."""
        consonants, vowels = wide_world.LETTERS
        letters = [self.wide_random.choice((consonants, vowels)[place % 2]) for place in range(self.wide_random.randrange(3, 8))]
        if self.wide_random.random() < 0.3:
            letters.insert(2, letters[2] if len(letters) > 2 else "n")
        return "".join(letters).capitalize()

    def beat(self, name: str) -> None:
        self.beats.append(name)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *options):
        return self.random.choice(options)

    def one(self, name: str, *templates: str) -> str:
        """One of several templates; which one it was belongs to the skeleton."""
        index = self.random.randrange(len(templates))
        self.beat(f"{name}{index}")
        return self.say(templates[index])

    def fresh(self, slot: str) -> str | None:
        """Slots that should not say the same thing twice in one story."""
        if slot == "sound":
            return self.random.choice(self.place.sounds)
        if slot == "day" and "day" in self.mentioned:
            return self.random.choice(("the next day", "the following morning", "the day after", "the next morning"))
        if slot == "day":
            self.mentioned.add("day")
        return None

    def say(self, template: str, **more) -> str:
        while CHOICE.search(template):
            template = CHOICE.sub(lambda found: self.random.choice(found[1].split("|")), template)
        words = {**self.words, **more}

        def lookup(slot):
            word = self.fresh(slot[2]) or words[slot[2]]
            if slot[2] == "friend" and "friend" not in self.mentioned:
                # Whoever enters the story is introduced, unless the sentence does so itself.
                self.mentioned.add("friend")
                if "{friend.kind}" not in template:
                    word = f"{word} the {self.friend.kind}"
            word = SLOT.sub(lambda inner: words[inner[2]], word)
            return word[0].upper() + word[1:] if slot[1] else word

        return polish(SLOT.sub(lookup, template))


def polish(text: str) -> str:
    """Capitals at the start of sentences, "an" before vowels, single spaces."""
    text = re.sub(r" +", " ", text).strip()
    text = re.sub(r"\b([Aa]) (?=[aeiou](?!ne\b|nce\b|se))", r"\1n ", text)
    text = re.sub(r'(^|\n|[.!?] |\." |: ")("?)([a-z])', lambda found: found[1] + found[2] + found[3].upper(), text)
    return text
