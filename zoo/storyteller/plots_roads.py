"""Plots that turn on what happens on the way: errands, contests, storms, maps, riddles."""

from zoo.storyteller.openings import ending, friend, interruption, meet_friend, opening, pause
from zoo.storyteller.teller import Teller


ERRANDS = [
    "a letter with a red seal",
    "a pot of soup",
    "a bottle of medicine",
    "a bunch of keys",
    "a warm coat",
    "a basket of eggs",
    "a box that must not be shaken",
    "a birthday cake",
]

OBSTACLES = [
    ("the bridge was gone", '"Climb on my back," said {friend}, "I know where the water is shallow."'),
    ("the path was blocked by a fallen tree", '"Not over it and not around it," said {friend}. "Under it!"'),
    ("the road split into three", '"Listen," said {friend}. "You can hear the right one: {other_sound}."'),
    ("a great goose stood in the way and hissed", '"She only wants to be asked," said {friend}, and bowed. The goose stepped aside.'),
    ("a gate was locked, and there was no key", '"Have you tried to push?" asked {friend}. The gate swung open.'),
    ("the snow, or was it sand, was too deep", '"Step where I step," said {friend}.'),
]


def errand(teller: Teller) -> list:
    load = teller.pick(*ERRANDS)
    obstacle, help_ = teller.pick(*OBSTACLES)
    teller.beat(f"{load}: {obstacle}")
    first = [
        opening(teller),
        teller.say(
            "One day {elder} gave {him} "
            + load
            + '. "Bring this to {other_place}," said {elder}, "before the [sun goes down|first star comes out|bell rings six]. [It is important|Do not stop on the way|Do not look back]."'
        ),
    ]
    second = [
        teller.one(
            "setout",
            "{hero} set out at once.",
            '"You can count on me," said {hero}, and {he} was already out of the door.',
            "It was a long way, and {hero} had never gone there alone.",
        ),
        teller.say("Halfway there, " + obstacle + "."),
        meet_friend(teller),
        teller.say(help_),
        interruption(teller),
    ]
    third = [
        teller.one(
            "arrive",
            'They arrived when the light was already fading. A door opened, and a [warm hand|kind old face] took what they had brought. "You came in time," said a voice. "I had almost stopped hoping."',
            'When they came {at_other_place}, nobody was there. They waited. At last a small boy came running. "It is for my grandmother," he said, out of breath. "She has been ill, and now she will get well."',
            '{hero} handed it over with both hands. "Do you know what it is?" asked the stranger. {hero} shook {his} head. "Then you are even more trustworthy than I thought," said the stranger, and gave each of them a golden [apple|button|bun].',
        ),
        teller.one(
            "home",
            "On the way back they were in no hurry, and the road seemed much shorter.",
            '"Shall we go home together?" asked {friend}. And so they did.',
            "{elder} was waiting at the gate. {elder.he} asked nothing. {elder.he} only looked at {hero}'s muddy feet and put the kettle on.",
        ),
    ]
    return [first, second, third, [ending(teller, "[No road is long with good company|The longest way begins at your own door].")]]


def contest(teller: Teller) -> list:
    prize, task, mishap, saved = teller.pick(
        ("the golden spoon", "bake the best pie", "the pie fell on the floor", "cut it into small pieces and called it a crumble"),
        (
            "a silver cup",
            "grow the biggest pumpkin",
            "a family of mice moved into the pumpkin",
            "put a lamp inside, and it became the smallest house and the brightest lantern of the fair",
        ),
        ("a ride in the balloon", "build the fastest boat", "the boat sprang a leak", "stuffed the hole with {his} own hat"),
        ("a crown of flowers", "sing the loveliest song", "{he} forgot the second verse", "hummed it, and soon everyone hummed along"),
        (
            "a barrel of apples",
            "win the great race",
            "{friend} fell and could not get up",
            "stopped, took {friend} on {his} back, and walked",
        ),
        ("ten new books", "tell the best story", "{he} had no idea how it should end", "asked the smallest child how it should end"),
        (
            "a painted sledge",
            "build the tallest snowman",
            "the sun came out",
            "turned the rest into the best snowball fight anyone had seen",
        ),
    )
    teller.beat(task)
    first = [
        opening(teller),
        teller.say(
            "Once a year there was a contest {at_other_place}. Whoever could "
            + task
            + " won "
            + prize
            + ". {hero} wanted to win more than anything."
        ),
    ]
    second = [
        teller.one(
            "prepare",
            "{he} practised every day, and {friend} the {friend.kind} helped.",
            '{friend} the {friend.kind} wanted to win, too. "May the better one win," they said and shook hands.',
            '"It is not important to win," said {elder}. {hero} thought that only people who never win say such things.',
        ),
        teller.say(
            "On the great day the whole world seemed to be there. {hero}'s heart beat like a drum. And then it happened: " + mishap + "."
        ),
        teller.one(
            "shock", "Everything went quiet.", "Somebody giggled. {hero} wanted to sink into the ground.", "{hero} felt tears coming."
        ),
    ]
    third = [
        teller.say("But {strength}. {he} " + saved + "."),
        teller.one(
            "result",
            "{he} did not win "
            + prize
            + ". That went to {friend}. But everyone talked about {hero} for weeks, and {friend} shared the prize, of course.",
            'The judges whispered for a long time. "First prize," they said at last, "goes to {hero}, for the best idea."',
            "In the end {hero} came last. And still it was the loudest applause of the day.",
            "{elder} stood up to name the winner. {elder.he} looked at {hero}, and smiled.",
        ),
    ]
    return [
        first,
        second,
        third,
        [
            pause(teller),
            ending(teller, "[Winning is over quickly, but a good story lasts|It is not the fall that counts but what you do next]."),
        ],
    ]


def rescue(teller: Teller) -> list:
    trouble, tool, deed = teller.pick(
        ("was stuck on a rock while the water rose", "a long rope", "threw one end across and tied the other to a tree"),
        ("had fallen into the old well", "a bucket and a strong rope", "let it down slowly, hand over hand"),
        ("was lost in the fog", "a bell", "rang it again and again until an answer came"),
        ("was trapped behind a heavy door", "a long iron bar", "pushed with all {his} weight, and the door moved by the width of a hand"),
        ("drifted out to sea in a tub", "a small boat and two spoons for oars", "rowed until {his} arms burned"),
        ("was snowed in and had no firewood", "a sledge full of logs", "pulled it through the drifts, step by step"),
    )
    teller.beat(trouble)
    first = [opening(teller), friend(teller)]
    second = [
        teller.say("Then, on {day}, {storm}. {hero} sat at the window. Where was {friend}?"),
        teller.one(
            "news",
            '{elder} came running. "Quick!" {elder.he} cried. "{friend} needs help!" And it was true: {friend} ' + trouble + ".",
            "{he} went out to look. And then {he} saw it: {friend} " + trouble + ".",
            "Far away {he} heard a thin voice calling. {friend} " + trouble + "!",
        ),
        teller.one(
            "doubt",
            '"It is too dangerous," said {elder}. "It is {friend}," said {hero}, and that was the whole answer.',
            "For a moment {hero} did not know what to do. Then {strength}.",
            "{hero} was small, and the storm was big. But somebody had to do something.",
        ),
    ]
    third = [
        teller.say("{he} took " + tool + " and " + deed + "."),
        interruption(teller),
        teller.one(
            "saved",
            '"I have you!" {he} shouted against the wind. "Do not let go!" And {friend} did not let go.',
            "It took forever. It took ten minutes. Then {friend} was there, wet and cold and safe.",
            "Once it nearly went wrong. Twice it nearly went wrong. The third time it went right.",
        ),
        teller.one(
            "warm",
            'Later they sat by the fire under one blanket. "How did you know where I was?" asked {friend}. "I know where you are when you are not here," said {hero}.',
            '"You came," said {friend}. "Of course," said {hero}. "You would have come, too."',
            'Nobody spoke for a long time. Then {friend} said, "I would like some {food} now." And everything was good.',
        ),
    ]
    return [first, second, third, [ending(teller, "[In a storm you learn how strong a friendship is|A friend is somebody who comes].")]]


def treasure(teller: Teller) -> list:
    first = [
        opening(teller),
        teller.say(
            "[In an old book|Behind a loose stone|In a bottle|In {his} grandfather's coat] {he} found a map. It showed {other_place}, and in the middle was a red cross."
        ),
    ]
    riddles = (
        '"What has a mouth but never eats?" "A river!"',
        '"What has hands but cannot hold?" "A clock!"',
        '"What grows when you give it away?" "Joy!"',
    )
    second = [
        teller.one(
            "team",
            '{he} ran to {friend} the {friend.kind}. "Gold!" said {friend}. "Or jewels!" said {hero}.',
            '"Treasure maps are always false," said {elder}. But {hero} and {friend} the {friend.kind} had already packed.',
            "{he} told only {friend}, a {friend.kind} who could keep secrets.",
        ),
        teller.one(
            "way",
            "They walked the whole day, past {other_sight}, and counted their steps just as the map said.",
            "First they went in the wrong direction, because {friend} held the map upside down.",
            "On the way they had to solve a riddle that was written on a stone: " + teller.pick(*riddles) + " cried {hero}.",
        ),
        interruption(teller),
    ]
    third = [
        teller.say("They dug until their arms hurt. Then the spade hit something hard. It was a [wooden chest|rusty box|clay pot]."),
        teller.one(
            "inside",
            'Inside there was no gold. There was {a_thing}, and a note: "This made me happy when I was a child. Now it is yours."',
            'It was full of seeds. "That is all?" asked {friend}. They planted them anyway. In summer there was a garden that people came from far away to see.',
            'It was empty, but on the bottom somebody had written: "The treasure is the one who dug with you." {hero} and {friend} looked at each other and grinned.',
            'Inside lay another map. {hero} looked at {friend}, and {friend} looked at {hero}. "Tomorrow?" asked {friend}. "Tomorrow," said {hero}.',
        ),
    ]
    return [
        first,
        second,
        third,
        [pause(teller), ending(teller, "[Not everything that is worth something shines|The best part of a treasure is the looking].")],
    ]


def riddle(teller: Teller) -> list:
    question, wrong, answer = teller.pick(
        ("What can fill a whole room and weighs nothing?", '"Air," said {friend}. "Close," said {guard}, "but no."', "light"),
        ("What breaks when you say its name?", '"Glass!" cried {friend}. {guard} shook its head.', "silence"),
        ("What belongs to you, but others use it more?", '"My {thing}," said {hero} sadly. "No," said {guard}.', "your name"),
        ("What gets bigger the more you take away?", '"Hunger," said {friend}. {guard} almost smiled. "No."', "a hole"),
        (
            "What goes up and never comes down?",
            '"Smoke?" asked {friend}. "Smoke gets lost," said {guard}. "That is different."',
            "your age",
        ),
        (
            "What follows you all day and leaves when it gets dark?",
            '"{friend}!" said {hero}. {guard} laughed, but shook its head.',
            "your shadow",
        ),
    )
    guard = teller.pick("the stone lion", "the great toad", "the old gate", "the talking door", "the grey cat")
    teller.beat(question)

    def say(text):
        return teller.say(text, guard=guard)

    first = [opening(teller), friend(teller)]
    second = [
        teller.one(
            "reason",
            "On {day} they wanted to go to {other_place}, because {hero} had to bring {elder} some {food}.",
            "They had heard that somewhere beyond {other_place} one could see {other_sight}.",
            "They were on the way home, and {storm}.",
        ),
        say('But the way was closed. "Nobody passes," said {guard}, "who cannot answer my question: ' + question + '"'),
        say(wrong),
        teller.one(
            "think",
            "{hero} sat down to think. {he} thought until the sun had moved from one side of the sky to the other.",
            "They tried everything they could think of. {friend} got angry. {hero} got quiet.",
            '"May we ask somebody?" asked {hero}. "You may ask yourself," was the answer.',
        ),
    ]
    third = [
        teller.one(
            "spark",
            "Then {strength}. {he} jumped up.",
            'Suddenly {he} began to laugh. "It was so easy!"',
            "{he} looked around, slowly, at everything: {sight}, the sky, {friend}'s face. And then {he} knew.",
        ),
        say(
            '"It is '
            + answer
            + '," said {hero}. It was very quiet. Then {guard} [nodded|sighed|bowed]. "A hundred years I have waited for that," it said. "[Go on, clever one|Thank you. Now I need a new question|Pass, both of you]."'
        ),
        teller.one(
            "beyond",
            "And beyond, it was more beautiful than they had imagined.",
            '"I knew it, too," said {friend} after a while. "Almost."',
            "On the way back {hero} brought a new riddle along as a present.",
        ),
    ]
    return [first, second, third, [ending(teller, "[A good question is worth a long sit|Thinking is also a way of walking].")]]


PLOTS = {"errand": errand, "contest": contest, "rescue": rescue, "treasure": treasure, "riddle": riddle}
