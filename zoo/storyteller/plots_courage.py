"""Plots that turn on something hard: a fear to face, a skill to learn."""

from zoo.storyteller.openings import ending, interruption, opening
from zoo.storyteller.teller import Teller


FEARS = [
    (
        "the dark",
        "every evening {he} lit all the lamps {he} had",
        "the dark was full of small friendly sounds: {sound}",
        "the lamp went out in the middle of the night",
    ),
    (
        "thunder",
        "{he} hid under the bed when a cloud came up",
        "thunder was only the sky moving its furniture",
        "a great storm came over the hills",
    ),
    (
        "deep water",
        "{he} never went near it without holding on to something",
        "the water carried {him} like a big cool hand",
        "{friend} slipped and fell into the water",
    ),
    (
        "high places",
        "{he} would not even stand on a chair",
        "from up there {he} could see {sight}, small and lovely",
        "{friend} was stuck far up and did not dare to move",
    ),
    (
        "strangers",
        "{he} hid whenever somebody knocked",
        "a stranger is only someone whose name you do not know yet",
        "a traveller with a hurt foot knocked at the door",
    ),
    (
        "the old house at the end of the road",
        "{he} always ran past it with closed eyes",
        "nobody lived there but {elder}, who was just as afraid of visitors",
        "{friend}'s ball flew over its wall",
    ),
    (
        "singing in front of others",
        "{he} only sang where nobody could hear",
        "everyone was quiet because they liked it, not because it was wrong",
        "the singer of the feast lost her voice",
    ),
    (
        "the big dog at the gate",
        "{he} walked a mile around to avoid it",
        "the dog only barked because it was lonely",
        "the dog got its head stuck in the fence",
    ),
]

SKILLS = [
    ("whistle", "nothing came out but air", "make your mouth as small as a cherry", "a clear, bright note flew over the roofs"),
    ("swim", "{he} sank like a spoon", "lie on the water as if it were your bed", "the water held {him} up"),
    (
        "bake bread",
        "the bread came out as hard as a brick",
        "let the dough sleep until it is ready to wake",
        "the loaf rose like a golden hill",
    ),
    ("dance", "{he} tripped over {his} own feet", "do not count the steps, listen to the drum", "{his} feet found the way by themselves"),
    (
        "ride a bicycle",
        "{he} fell into the nettles",
        "do not look at the wheel, look where you want to go",
        "the wind was in {his} face and {he} was flying",
    ),
    (
        "read",
        "the letters ran around like ants",
        "read one word at a time, and say it aloud",
        "the words stood still and told {him} a secret",
    ),
    (
        "juggle",
        "everything landed on {his} head",
        "throw slowly and wait for what comes down",
        "three apples turned in the air like small red planets",
    ),
    ("skip stones", "every stone went plop", "choose a flat one and throw it low", "the stone jumped seven times and left seven rings"),
    (
        "tie knots",
        "every knot fell open",
        "make the rope tell a story: out of the hole, around the tree, and back",
        "the knot held even when three of them pulled",
    ),
    ("paint the sea", "it looked like a wet towel", "do not paint the water, paint the light on it", "the picture seemed to move"),
    ("tell jokes", "nobody laughed", "wait one breath before the end", "even {elder} laughed so hard that the hat fell off"),
]


def fear(teller: Teller) -> list:
    what, habit, truth, test = teller.pick(*FEARS)
    teller.beat(f"fear of {what}")
    first = [opening(teller), teller.say("There was only one thing {hero} was afraid of: " + what + ". Because of it, " + habit + ".")]
    second = [
        teller.one(
            "laugh",
            'Some of the others laughed about it, but {friend} the {friend.kind} did not. "Everyone is afraid of something," {friend.he} said. "I am afraid of [spiders|soup that is too hot|being late]."',
            "{friend} the {friend.kind}, {his} best friend, never laughed about it.",
            "{hero} told no one, not even {friend}, {his} best friend.",
        ),
        teller.say("Then, on {day}, " + test + "."),
        teller.one(
            "decide",
            "There was no time to call for help. {hero}'s knees shook. {he} counted to three. At three {he} went.",
            '{hero} wanted to run. But nobody else was there. "I am afraid," {he} said aloud, "and I am going anyway."',
            "{hero} closed {his} eyes, opened them again, and took one small step. Then {he} took another one.",
        ),
    ]
    third = [
        teller.one(
            "discover",
            "And what {he} found surprised {him}: " + truth + ".",
            "It was not as {he} had thought. " + truth + ".",
            "Slowly {he} noticed something: " + truth + ".",
        )
    ]
    third.append(
        teller.one(
            "after",
            '"You did it!" [cried|shouted] {friend}. "Were you not afraid?" "I was," said {hero}. "I still am, a little. But now I am bigger than it."',
            "When it was over, {hero} sat down, because {his} legs were like butter. {friend} sat down next to {him} and did not say a word, and that was just right.",
            '{friend} looked at {him} with wide eyes. "That," said {friend.he}, "was the bravest thing I have ever seen."',
        )
    )
    return [
        first,
        second,
        third,
        [ending(teller, "Being brave [does not mean being without fear|is being afraid and going anyway], {hero} had learned.")],
    ]


def skill(teller: Teller) -> list:
    what, fails, hint, works = teller.pick(*SKILLS)
    teller.beat(f"skill {what}")
    first = [
        opening(teller),
        teller.say("{he} wanted to learn to " + what + ". " + "{^friend} the {friend.kind} could do it, and so could everyone else."),
    ]
    second = [
        teller.one(
            "try",
            "{hero} tried in the morning, and " + fails + ". {he} tried at noon, and " + fails + ".",
            "But whenever {hero} tried, " + fails + ".",
            "On the first day " + fails + ". On the second day it was the same.",
        ),
        teller.one(
            "giveup",
            '"I will never learn it," {he} [said|sighed].',
            '{hero} threw [{his} hat|a pebble] on the ground. "I quit!"',
            "Somebody laughed, and {hero} ran away and hid {spot}.",
        ),
        teller.one(
            "teacher",
            '{elder} had seen it all. "Do you want to know a secret?" asked {elder}. "You must ' + hint + '."',
            '{friend} sat down beside {him}. "I needed [a whole summer|a hundred days]," {friend.he} said. "Then somebody told me: '
            + hint
            + '."',
            'That night {hero} dreamed of {elder}, who said only one thing: "' + hint[0].upper() + hint[1:] + '."',
        ),
        interruption(teller),
    ]
    third = [
        teller.one(
            "again",
            "{hero} tried once more. {he} tried the next day, too, and the day after that. And then, suddenly, " + works + ".",
            "So {he} [practised|tried] again, a little every day. Nobody was watching when it happened: " + works + ".",
            "{hero} took a deep breath and did exactly that. For a moment nothing happened. Then " + works + ".",
        )
    ]
    third.append(
        teller.one(
            "pass_on",
            '"{friend}! {friend}! Did you see that?" {he} shouted. "I saw it," said {friend}, and {friend.he} was as happy as {hero}.',
            'The next week a small [rabbit|mouse|child] asked, "Can you teach me?" And {hero} said, "Do you want to know a secret?"',
            "{he} did it again and again until it was dark, just because {he} could.",
        )
    )
    return [
        first,
        second,
        third,
        [ending(teller, "[Everything is hard before it is easy|A hundred bad tries are the road to a good one].")],
    ]


PLOTS = {"fear": fear, "skill": skill}
