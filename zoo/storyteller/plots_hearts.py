"""Plots that turn on what somebody feels for another: quarrel, loneliness, a promise, pride."""

from zoo.storyteller.openings import ending, friend, interruption, opening, pause
from zoo.storyteller.teller import Teller


def quarrel(teller: Teller) -> list:
    first = [opening(teller), friend(teller)]
    second = [
        teller.one(
            "reason",
            'One day they both wanted {the_thing}. "I saw it first!" cried {hero}. "But I need it more!" cried {friend}.',
            'One day they built a [tower|raft|hut] together. "It must be high," said {hero}. "It must be wide," said {friend}. Soon they were shouting.',
            "One day {friend} said that {hero} was [too loud|always late|no fun], and {hero} said something worse.",
            "It began with a small thing: {friend} had forgotten {hero}'s birthday.",
        ),
        teller.one(
            "part",
            "{friend} went to the left, {hero} went to the right, and neither of them looked back.",
            '"Then I will play alone!" said {hero}. "Good!" said {friend}. "Very good!" said {hero}.',
            "They drew a line on the ground between their houses, and nobody was allowed to cross it.",
        ),
    ]
    third = [
        teller.one(
            "alone",
            "For one hour it was nice to be alone. Then it was boring. Then it was sad.",
            "{hero} tried to play both sides of the game, but it is no fun to win against yourself.",
            "{hero} ate {food} alone, and it tasted of nothing.",
            "At night {he} heard that {sound}, and there was nobody to whom {he} could say it.",
        ),
        interruption(teller),
        teller.one(
            "peace",
            'In the end {hero} took the {thing} and went to {friend}\'s door. At the same moment the door opened. {friend} was on the way to {hero}. "I am sorry," they both said, and then they both laughed.',
            '{hero} wrote a letter with only one word on it: "Sorry." {he} pushed it under the door and waited. After a while it came back. On the other side it said: "Me too."',
            '"What was it about, your quarrel?" asked {elder}. {hero} thought hard. {he} could not remember. So {he} ran to {friend} as fast as {he} could.',
            "Then {hero} heard a cry. {friend} had fallen [into a ditch|from a wall|into the cold stream]. {hero} did not think about the quarrel at all. {he} held out {his} hand. {friend} took it, and neither let go for a long time.",
        ),
    ]
    return [
        first,
        second,
        third,
        [pause(teller), ending(teller, "[A quarrel is like rain: it ends|It takes two to quarrel and one to stop], {elder} used to say.")],
    ]


def newcomer(teller: Teller) -> list:
    first = [
        opening(teller),
        teller.one(
            "arrival",
            "On {day} somebody new came to {place}: a {friend.kind} named {friend}, {friend.look}.",
            "One morning a {friend.kind} stood there with a small suitcase. {friend.his} name was {friend}.",
            "In {season} a {friend.kind} called {friend} moved into the empty house.",
        ),
    ]
    second = [
        teller.one(
            "shun",
            "{friend} spoke to no one and no one spoke to {friend.him}.",
            'The others whispered. "{friend.he} [walks|talks|eats] in such a strange way," they said.',
            "{friend} sat alone every day and looked at the ground.",
        ),
        teller.one(
            "notice",
            "{hero} saw it, and {strength}.",
            '"I was new once, too," {hero} thought.',
            "{hero} wondered what it was like to know nobody at all.",
        ),
        teller.one(
            "step",
            '{he} took some {food} and knocked on the door. "I made too much," {he} said. That was not quite true.',
            '{he} sat down next to {friend} and showed {friend.him} {the_thing}. "Do you want to try?" {he} asked.',
            '"Do you know the way to {other_place}?" asked {hero}. "No," said {friend}. "Then come along," said {hero}.',
        ),
        interruption(teller),
    ]
    third = [
        teller.one(
            "gift",
            "It turned out that {friend} could [tell wonderful stories|find water with closed eyes|mend anything|sing like a lark]. Soon everyone wanted to sit near {friend.him}.",
            '{friend} smiled for the first time. "Where I come from," {friend.he} said, "[we say hello with our noses|there is snow all year|the boats fly]," and {hero} listened until it was dark.',
            "A week later the [river rose|fire went out in every house|snow blocked the door]. Only {friend} knew what to do, and {friend.he} showed them all.",
        ),
        teller.one(
            "belong",
            "After that nobody called {friend} a stranger.",
            '"Will you come again tomorrow?" asked {friend}. "Of course," said {hero}. "You are my neighbour."',
            "And when the next newcomer arrived, it was {friend} who knocked on the door first.",
        ),
    ]
    return [first, second, third, [ending(teller, "[A friend is a stranger to whom somebody said hello|It needs only one to begin].")]]


def promise(teller: Teller) -> list:
    task = teller.pick(
        ("water the beans", "the beans hung their heads"),
        ("feed the geese", "the geese had gone to look for food on their own"),
        ("keep the fire burning", "the fire was out and the house was cold"),
        ("watch the sheep", "one sheep was missing"),
        ("light the lamp at dusk", "the lamp was dark, and a boat was out on the water"),
        ("close the gate", "the gate stood open and the goats were gone"),
    )
    teller.beat(task[0])
    first = [
        opening(teller),
        teller.say(
            'One day {elder} had to go on a journey. "Will you ' + task[0] + ' while I am away?" asked {elder}. "I promise," said {hero}.'
        ),
    ]
    second = [
        teller.one(
            "forget",
            'For three days {hero} did it well. On the fourth day {friend} came by. "Come to {other_place}," said {friend}. "There are {other_sight}!" And {hero} forgot {his} promise.',
            "But {he} found {a_thing}, and {fault}. Hours went by.",
            '"Just a little nap," {hero} thought. When {he} woke up, the sun was low.',
        ),
        teller.say("When {he} came back, " + task[1] + ". {^his} heart sank."),
        interruption(teller),
    ]
    third = [
        teller.one(
            "amends",
            "{hero} did not sleep that night. {he} worked and searched and ran until everything was right again, or nearly.",
            "{he} called {friend}, and together they did what they could. By morning the worst was over.",
            '"I could hide," {he} thought. "But a promise is a promise, even when it is broken." {he} rolled up {his} sleeves.',
        ),
        teller.one(
            "elder_back",
            'When {elder} came home, {hero} told {elder.him} everything. {elder} listened and nodded. "You forgot, and you put it right, and you told me," {elder.he} said. "Two out of three is not bad."',
            '"Did all go well?" asked {elder}. {hero} took a deep breath. "No," {he} said. And because it was the truth, {elder} was not angry for long.',
            '{elder} looked at {his} tired face and understood. "Next time," said {elder}, "tie a knot in your handkerchief." And {elder.he} gave {hero} one with a knot already in it.',
        ),
    ]
    return [
        first,
        second,
        third,
        [
            ending(
                teller,
                "A promise is [a small thing that weighs a lot|like an egg: easy to carry, if you do not forget that you are carrying it].",
            )
        ],
    ]


def boaster(teller: Teller) -> list:
    boast = teller.pick(
        ("the fastest runner", "run to {other_place} and back", "a slow old snail had to show {him} the way"),
        ("the best climber", "climb to the very top", "{he} could not get down again"),
        ("the strongest of all", "lift the great stone", "the stone did not even tremble"),
        ("the best cook", "cook for the whole feast", "there was more smoke than soup"),
        ("not afraid of anything", "spend a night {at_other_place}", "{he} was back before the moon was up"),
    )
    teller.beat(boast[0])
    first = [
        opening(teller),
        teller.say("{hero} liked to say that {he} was " + boast[0] + ". {he} said it in the morning and {he} said it in the evening."),
    ]
    second = [
        teller.one(
            "dare",
            '"Then show us," said {friend} the {friend.kind}.',
            'One day {friend} the {friend.kind} had heard enough. "Prove it," said {friend.he}.',
            '"Really?" asked {elder}. "How nice. We need somebody like that."',
        ),
        teller.say('"Nothing easier!" said {hero}. "I will ' + boast[1] + '." Everyone came to watch.'),
        interruption(teller),
        teller.say("But " + boast[2] + "."),
    ]
    third = [
        teller.one(
            "humble",
            'Nobody laughed. That was almost worse. {friend} only said, "[Come down|Sit with us|Come], the soup is getting cold."',
            '{hero} looked at {his} feet. "Perhaps," {he} said, "I am only the second best." "Or the third," said {friend}, and even {hero} had to grin.',
            '"I need help," said {hero}. They were the three hardest words {he} had ever said. And at once ten hands were there.',
        ),
        teller.one(
            "change",
            "From then on {he} [spoke less and did more|asked the others what they could do]. It turned out that they could do a lot.",
            "The next day {hero} asked {friend} to teach {him}. {he} was a good pupil.",
            "And the strange thing was: now that {he} no longer said it, the others began to say it for {him}.",
        ),
    ]
    return [
        first,
        second,
        third,
        [pause(teller), ending(teller, "[Empty barrels sound loudest|Who boasts has already spent his luck], said {elder}.")],
    ]


PLOTS = {"quarrel": quarrel, "newcomer": newcomer, "promise": promise, "boaster": boaster}
