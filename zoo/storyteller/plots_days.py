"""Plots of small wonders near home: foundlings, strange noises, machines, seeds, pranks, birthdays."""

from zoo.storyteller.openings import ending, friend, interruption, opening, pause
from zoo.storyteller.teller import Teller


FOUNDLINGS = [
    ("a tiny bird with a hurt wing", "the wing was strong again", "it flew three circles around {his} head"),
    ("a lamb without its mother", "it could stand on its own legs", "it ran to the flock without looking back, and then it did look back"),
    ("a small grey seal pup", "it was round and shiny", "it dived under the first wave"),
    ("an egg as blue as the sky", "it hatched", "it called {him} its mother, and {he} did not know what to say"),
    ("a kitten in a wet sack", "its fur was dry and its belly was full", "it decided to stay"),
    ("a star no bigger than a coin, still warm", "it began to glow again", "it rose up into the night and blinked twice"),
    ("a young swan caught in a net", "it had forgotten its fear", "it swam away and the water closed behind it like silk"),
]

MYSTERIES = [
    ("a strange tapping", "it was a woodpecker who had mistaken the old door for a tree"),
    ("a faint song", "it was the wind, playing on an empty bottle"),
    ("a pale blue light", "it was a family of glow-worms who had lost their way"),
    ("a deep growl", "it was nothing but {elder}, who snored in the sun"),
    ("heavy footsteps", "it was a hedgehog in somebody's lost boots"),
    ("a quiet sobbing", "it was a little cloud that could not find its mother"),
    ("a sweet smell that came and went", "it was {friend}, who practised baking in secret for {hero}'s birthday"),
    ("a tinkling like small bells", "it was a magpie who had hung up everything she had ever stolen"),
]


def foundling(teller: Teller) -> list:
    what, grows, leaves = teller.pick(*FOUNDLINGS)
    teller.beat(what)
    first = [opening(teller)]
    second = [
        teller.say("On {day}, {spot}, {he} found " + what + "."),
        teller.one(
            "care",
            "{he} wrapped it in {his} scarf and carried it home.",
            '"Do not be afraid," {he} whispered. {he} made a bed for it in a [shoe box|straw hat|warm corner].',
            '{he} did not know what it needed, so {he} asked {friend} the {friend.kind}. "Warmth," said {friend}, "and somebody who stays awake."',
        ),
        teller.one(
            "nights",
            "Every day {he} brought it [water|food|something soft], and every night {he} sat beside it.",
            "It was a lot of work. {hero} was so tired that {he} fell asleep over {his} {food}.",
            '{elder} shook {elder.his} head. "You cannot keep it," {elder.he} said. "It belongs to the wide world." "I know," said {hero}, but {he} did not want to know.',
        ),
        interruption(teller),
    ]
    third = [
        teller.say("One morning " + grows + ". {hero} was glad, and {his} throat felt tight."),
        teller.one(
            "farewell",
            "{he} carried it back to the place where {he} had found it and opened {his} hands. For a moment nothing happened. Then "
            + leaves
            + ".",
            '"It is time," said {friend}. {hero} nodded. {he} opened the door wide, and ' + leaves + ".",
        ),
        teller.one(
            "sign",
            "A year later, on the very same day, something lay on {his} doorstep: a single white pebble. {hero} knew at once who had brought it.",
            "Sometimes, when {sound}, {hero} thinks that {he} can hear it.",
            '"Will it remember me?" asked {hero}. "You will remember," said {friend}. "That is the same, only longer."',
            "",
        ),
    ]
    return [first, second, third, [ending(teller, "To love something is [also to let it go|to want it to be free].")]]


def mystery(teller: Teller) -> list:
    what, truth = teller.pick(*MYSTERIES)
    teller.beat(what)
    first = [opening(teller), friend(teller)]
    second = [
        teller.say("One night {he} noticed " + what + ". It came from somewhere {spot}, or so it seemed."),
        teller.one(
            "guess",
            '"A [ghost|monster|thief]!" whispered {friend} the next morning. "Nonsense," said {hero}, but {he} was not sure.',
            "Everyone had an idea what it was. {elder} said it was [a bad sign|only the weather]. {friend} said it was a giant.",
            "By noon the whole neighbourhood was talking about it, and by evening nobody dared to go out.",
        ),
        teller.one(
            "plan",
            '"There is only one way to find out," said {hero}. {^strength}. They took a lantern and a piece of cake, and when it was dark, they set out.',
            '"Tonight we stay awake," said {hero}. "You watch the left side and I watch the right side."',
            "{hero} strewed flour on the floor, so that whoever came would leave footprints.",
        ),
        interruption(teller),
    ]
    third = [
        teller.one(
            "closer",
            "They crept closer, step by step. There it was again! {friend} held on to {hero}'s sleeve.",
            "They waited and waited. {sound}. Then, all at once, it was quite near.",
            "Behind every corner they held their breath. {spot2} there was nothing. {spot3} there was nothing. And then there was something.",
        ),
        teller.say('"Look," said {hero}, and began to laugh: ' + truth + "."),
        teller.one(
            "solve",
            '"We were afraid of that?" asked {friend}. "Only until we looked," said {hero}.',
            "They helped as well as they could, and the night was quiet again. It was almost a pity.",
            "The next day they told everyone. But nobody wanted to believe it, because the other story was better.",
        ),
    ]
    return [
        first,
        second,
        third,
        [ending(teller, "[Most monsters are small when you carry a light|What you look at closely stops being scary].")],
    ]


def machine(teller: Teller) -> list:
    purpose, wrong, good = teller.pick(
        ("butter bread by itself", "threw the butter at the ceiling", "painted the ceiling in no time"),
        ("wake {him} in the morning", "sang so loudly that the whole street fell out of bed", "warned everyone when the mill caught fire"),
        ("pick apples", "picked up {friend} instead and put {friend.him} in a basket", "carried the old and the tired up the hill"),
        ("catch the wind", "blew everything out of the house", "dried the laundry of the whole town"),
        ("make rain", "made soap bubbles", "made every child {at_place} happy"),
        ("peel potatoes", "peeled the table", "made the finest wood shavings for everyone's stove"),
        ("write letters", "wrote nothing but poems", "won the heart of {elder}"),
    )
    teller.beat(purpose)
    first = [opening(teller), teller.say("{he} loved to build things. One day {he} began to build a machine that could " + purpose + ".")]
    second = [
        teller.one(
            "build",
            "{he} used [an old bicycle|a broken clock|three buckets], [a teapot|a spring|a sieve], and a great deal of string.",
            "For a whole week there was hammering and sawing day and night. {friend} the {friend.kind} brought {food} and asked no questions.",
            '{he} drew plans on every wall. "Is it safe?" asked {friend} the {friend.kind}. "Mostly," said {hero}.',
        ),
        teller.say("On {day} it was ready. {hero} pulled the lever. The machine [shook|hissed|rattled], and then it " + wrong + "."),
        teller.one(
            "laughs",
            '"It was not supposed to do that," said {hero}.',
            "{friend} laughed until {friend.he} had to hold on to the fence. {hero} did not laugh at all.",
            "Everyone ran out of the house.",
        ),
        interruption(teller),
    ]
    third = [
        teller.one(
            "despair",
            '{hero} wanted to take it apart. "It is no good for anything," {he} said.',
            "For three days {hero} did not come out of {his} room.",
            '"Perhaps," said {friend}, "it is not wrong. Perhaps it only does not know yet what it is for."',
        ),
        teller.say(
            "But then somebody noticed that it "
            + good
            + '. "I planned it that way," said {hero}. Nobody believed {him}, and nobody minded.'
        ),
    ]
    return [
        first,
        second,
        third,
        [ending(teller, "[A mistake is an invention that has not been understood yet|Not everything has to do what it was made for].")],
    ]


def seed(teller: Teller) -> list:
    first = [
        opening(teller),
        teller.say(
            '{elder} gave {him} a [small black|wrinkled brown|striped|round grey] seed. "What will it be?" asked {hero}. "Wait and see," said {elder}.'
        ),
    ]
    second = [
        teller.one(
            "plant",
            "{hero} planted it {spot} and watered it. The next morning {he} ran out to look. There was nothing.",
            "{he} put it into the ground, sat down beside it, and waited. {he} waited until supper.",
        ),
        teller.one(
            "impatient",
            'After a week {he} wanted to dig it up. "Don\'t," said {friend} the {friend.kind}. "It is busy."',
            '"It is broken," said {hero}. "It is sleeping," said {friend} the {friend.kind}.',
            "{he} sang to it. {he} scolded it. {he} told it a story. Nothing helped.",
        ),
        teller.one(
            "care",
            "So {he} brought water every day, even when it rained. Then {storm}, and {hero} held an umbrella over it the whole night.",
            "Weeks went by. {hero} almost forgot about it, but not quite.",
            "A snail came, and {hero} carried it to the other side of the fence. A goat came, and {hero} gave it a cabbage instead.",
        ),
    ]
    third = [
        teller.say(
            "And then, one morning, there was a tiny green point. It became a leaf. It became [a stem as thin as a thread|two leaves, and four, and eight]."
        ),
        teller.one(
            "what",
            'In late summer it opened: a sunflower, taller than the house. "Was that inside the whole time?" asked {hero}. "The whole time," said {elder}.',
            "It grew and grew until it was a tree, and {hero} was grown up, too. Now {he} sits in its shade and gives a seed to every child who asks.",
            teller.pick("It was only a bean. But it was {his} bean", "It was only a radish. But it was {his} radish")
            + ", and nothing had ever tasted so good.",
            "It bore one single apple. {hero} cut it into pieces: one for {elder}, one for {friend}, one for the goat, and one for {himself}.",
        ),
    ]
    return [
        first,
        second,
        third,
        [pause(teller), ending(teller, "[Good things grow when nobody is looking|Some things cannot be hurried].")],
    ]


def prank(teller: Teller) -> list:
    trick, outcome = teller.pick(
        ("painted {friend}'s door green in the night", "{friend} could not find the way home and walked around in the rain"),
        ("put salt into the sugar bowl", "{elder} served it to the whole village"),
        ("shouted that the king was coming", "everyone put on their best clothes and swept the street, and nobody came"),
        ("hid all the left shoes", "nobody could go out to bring in the hay before the storm"),
        ("turned all the clocks forward by an hour", "the bread was not baked and the train had left without anyone"),
    )
    teller.beat(trick)
    first = [opening(teller), friend(teller), teller.say("{hero} loved to play tricks.")]
    second = [
        teller.say("One night {he} " + trick + ". {he} giggled all the way back to bed."),
        teller.say("But the next day " + outcome + "."),
        teller.one(
            "guilt",
            "It was not funny at all. {hero} felt it in {his} stomach, like a cold stone.",
            '"Who does such a thing?" asked {elder}. {hero} became very interested in {his} own feet.',
            "{hero} waited for the laughter. It did not come.",
        ),
        interruption(teller),
    ]
    third = [
        teller.one(
            "own_up",
            '"It was me," said {hero}, so quietly that {he} had to say it twice.',
            "{he} could have kept silent. Nobody would have known. But {he} would have known.",
            "{friend} looked at {him}. {friend} had known all along. {hero} sighed and stepped forward.",
        ),
        teller.one(
            "penance",
            "As a punishment {he} had to [carry water|wash the dishes|sweep the square] for a week. {friend} helped, without being asked.",
            "{hero} spent the whole day putting things right. In the evening {elder} brought {him} {food}. Somebody had taken salt instead of sugar. {elder} winked.",
            '"Next time," said {friend}, "play a trick that makes people happy." {hero} thought about it. The next morning there was a flower on every doorstep, and nobody ever found out who had put it there.',
        ),
    ]
    return [first, second, third, [ending(teller, "A good joke is one at which [everybody laughs|the other one laughs, too].")]]


def birthday(teller: Teller) -> list:
    first = [
        opening(teller),
        teller.say("Tomorrow was the birthday of {friend} the {friend.kind}, {his} best friend. And {hero} had no present."),
    ]
    second = [
        teller.one(
            "ideas",
            "{he} thought of {a_thing}, but that was too expensive. {he} thought of a cake, but the last one had exploded.",
            "{he} looked {spot}, and {he} looked {spot2}, but there was nothing one could wrap in paper.",
            '"What do you give somebody who has everything?" {he} asked {elder}. "Something that is not a thing," said {elder}.',
        ),
        interruption(teller),
        teller.one(
            "idea",
            "Then {he} noticed that {sound}, and {he} had an idea. {he} worked the whole night.",
            'In the middle of the night {he} sat up in bed. "Of course!" {he} said.',
            "{he} was just about to give up when {he} saw {sight}. And then {he} knew.",
        ),
    ]
    third = [
        teller.say("The next day all the guests came with big boxes. {hero} came with empty hands."),
        teller.one(
            "present",
            '"My present is outside," {he} said. {he} took {friend} by the hand and led {friend.him} {at_other_place}, to the very spot where the sun was just rising between {other_sight}. "I found it for you," said {hero}. "It is only here at this hour." {friend} could not speak.',
            '"I am giving you a whole day," {he} said. "You may choose what we do, and I will not say no." It was the longest and best day of the year.',
            "{he} began to sing. It was a song about {friend}, with eleven verses, and in every verse there was something that only the two of them knew.",
            '{he} gave {friend} a small piece of paper. "Good for one rescue, at any time of the day or night," it said. {friend} has kept it to this day.',
        ),
        teller.one(
            "thanks",
            '"This is the best present of all," said {friend}.',
            "{friend} cried a little, but it was the good kind.",
            "All the others looked at their big boxes and felt that they were very small.",
        ),
    ]
    return [first, second, third, [ending(teller, "[The best gifts do not fit in a box|It is the thinking of someone that counts].")]]


PLOTS = {"foundling": foundling, "mystery": mystery, "machine": machine, "seed": seed, "prank": prank, "birthday": birthday}
