"""Stories by the thousand: a plot, its world, and perhaps a request or a title in front."""

import hashlib

from zoo.storyteller import plots_courage, plots_days, plots_hearts, plots_roads, plots_things
from zoo.storyteller.teller import Teller, polish

PLOTS = {**plots_things.PLOTS, **plots_hearts.PLOTS, **plots_courage.PLOTS, **plots_roads.PLOTS, **plots_days.PLOTS}
NAMES = sorted(PLOTS)
ABOUT_THING = {"lost", "broken", "given_away", "wished_for", "borrowed"}

REQUESTS = (
    "Tell me a story about {subject}.",
    "Write a story about {subject}.",
    "Please tell me a story about {subject}.",
    "A story about {subject}, please.",
    "Can you tell me a story about {subject}?",
    "Story: {subject}.",
)


def is_held_out(plot: str, kind: str, place: str) -> bool:
    """One combination of plot, hero and place in twelve is kept for the evaluation."""
    return hashlib.md5(f"{plot}|{kind}|{place}".encode()).digest()[0] % 12 == 0


def subject_of(teller: Teller, plot: str) -> str:
    hero = f"a {teller.hero.kind}"
    forms = [
        hero,
        f"{hero} named {teller.hero.name}",
        f"{teller.hero.name} the {teller.hero.kind}",
        f"{hero} {teller.place.at}",
        f"{hero} and a {teller.friend.kind}",
        f"{hero} named {teller.hero.name} {teller.place.at}",
    ]
    if plot in ABOUT_THING:
        forms += [
            f"{hero} and a {teller.thing.name}",
            f"{hero} named {teller.hero.name} and a {teller.thing.name}",
            f"a {teller.thing.name}",
        ]
    return teller.random.choice(forms)


def title_of(teller: Teller, plot: str) -> str:
    forms = [
        f"{teller.hero.name} and {teller.friend.name}",
        f"{teller.hero.name} the {teller.hero.kind.title()}",
        f"The {teller.trait.title()} {teller.hero.kind.title()}",
    ]
    if plot in ABOUT_THING:
        forms += [
            f"The {teller.words['look'].title()} {teller.thing.name.title()}",
            f"{teller.hero.name} and the {teller.thing.name.title()}",
        ]
    return teller.random.choice(forms)


def tell(seed: int, wide_share: float = 0.0) -> tuple:
    """One story as text, with its teller and the name of its plot."""
    teller = Teller(seed, wide_share)
    plot = teller.random.choice(NAMES)
    paragraphs = PLOTS[plot](teller)
    text = "\n\n".join(polish(" ".join(part for part in paragraph if part)) for paragraph in paragraphs)
    front = teller.random.random() * (0.65 if teller.is_wide else 1.0)
    if front < 0.45:
        text = polish(teller.random.choice(REQUESTS).format(subject=subject_of(teller, plot))) + "\n\n" + text
    elif front < 0.6:
        text = title_of(teller, plot) + "\n\n" + text
    return text, teller, plot


def stories(count: int, seed: int, held_out: bool = False, wide_share: float = 0.0):
    """Yields (text, teller, plot); training and evaluation never share a combination of plot, hero and place."""
    made = 0
    number = seed * 10_000_000
    while made < count:
        text, teller, plot = tell(number, wide_share)
        number += 1
        if is_held_out(plot, teller.hero.kind, teller.place.name) == held_out:
            made += 1
            yield text, teller, plot
