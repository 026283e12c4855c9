"""A wider world with less detail: kinds, places and things that teach the model to take up whatever it is asked for."""

from zoo.storyteller.places import Place
from zoo.storyteller.things import Thing

KINDS = (
    """elephant lion tiger wolf horse pony pig cow hen rooster parrot whale dolphin shark octopus crab seahorse beetle ant bee butterfly
caterpillar spider worm kangaroo panda monkey gorilla giraffe zebra hippo camel llama moose deer beaver raccoon skunk weasel leopard seal
pelican stork swan goose pigeon sparrow robin eagle falcon peacock ostrich lizard gecko snake crocodile unicorn phoenix fairy elf dwarf
troll king queen prince princess pirate astronaut detective farmer miner cook teacher doctor nurse driver pilot inventor musician dancer poet
carpenter fisherman soldier magician clown hunter student merchant captain scientist weaver mayor writer barber plumber singer thief monster
snowman scarecrow alien puppet doll teddy bear toad newt hamster guinea pig sheep lamb kitten puppy foal calf bison buffalo antelope cheetah
jackal hyena meerkat lemur sloth armadillo anteater porcupine squid jellyfish lobster salmon trout goldfish cricket grasshopper ladybird moth
firefly dragonfly wasp raven magpie woodpecker cuckoo nightingale finch gull albatross vulture condor hummingbird toucan cockatoo""".replace(
        "teddy bear", "teddy_bear"
    )
    .replace("guinea pig", "guinea_pig")
    .replace("\n", " ")
    .split()
)
KINDS = tuple(kind.replace("_", " ") for kind in KINDS)
# Asked for in the evaluation, never met in training.
UNSEEN_KINDS = (
    "walrus",
    "juggler",
    "chameleon",
    "koala",
    "mermaid",
    "witch",
    "reindeer",
    "flamingo",
    "violinist",
    "nurse shark",
    "acrobat",
    "vampire",
    "rhinoceros",
    "tortoise shell cat",
    "gnome",
    "ballerina",
    "mechanic",
    "starfish",
    "lynx",
    "butcher",
    "emperor",
    "chipmunk",
    "wombat",
    "yak",
)
LOOKS = (
    "with bright eyes",
    "with a very loud laugh",
    "who was smaller than the others",
    "who never wore shoes",
    "with a hole in {his} pocket",
    "who loved the rain",
    "with a blue ribbon",
    "who was always hungry",
    "with a soft voice",
    "who slept until noon",
    "in a yellow coat",
)

SPOTS = (
    "behind a big stone",
    "under a bench",
    "in a dark corner",
    "behind an open door",
    "in a wooden box",
    "on top of the wall",
    "under a pile of straw",
)
SOUNDS = (
    "somebody was whistling",
    "a door creaked",
    "the wind was humming",
    "far away a bell rang",
    "everything was quiet",
    "something rustled",
)
SMELLS = ("dust and rain", "fresh paint", "smoke", "warm stone", "flowers", "soap")
SIGHTS = ("people in bright coats", "long shadows", "birds on the wires", "small golden windows", "clouds like sheep", "a crooked fence")
PLACES = tuple(
    Place(name, at, SPOTS, SOUNDS, SMELLS, SIGHTS)
    for name, at in (
        *(
            (name, f"in the {name}")
            for name in (
                "city",
                "jungle",
                "desert",
                "school",
                "zoo",
                "circus",
                "park",
                "cave",
                "kitchen",
                "museum",
                "theatre",
                "palace",
                "cellar",
                "swamp",
                "valley",
                "hospital",
                "tower",
                "barn",
                "tree house",
                "sky",
                "toy shop",
                "workshop",
                "greenhouse",
                "prison",
                "temple",
                "stable",
                "bathtub",
                "wardrobe",
                "winter forest",
                "ocean",
                "lake",
                "pond",
                "village",
                "big house",
                "canyon",
                "vineyard",
                "bookshop",
                "hotel",
                "classroom",
                "clouds",
            )
        ),
        *(
            (name, f"on the {name}")
            for name in (
                "moon",
                "farm",
                "ship",
                "roof",
                "bridge",
                "playground",
                "volcano",
                "hill",
                "ice",
                "balcony",
                "planet of cats",
                "old ferry",
                "space station",
                "raft",
            )
        ),
        *(
            (name, f"at the {name}")
            for name in (
                "airport",
                "seaside",
                "waterfall",
                "north pole",
                "royal court",
                "crossroads",
                "gas station",
                "swimming pool",
                "bus stop",
            )
        ),
    )
)
THINGS = tuple(
    Thing(name, ("old", "new", "big", "small", "shiny", "strange", "golden", "red"), use, broke, mended, gift)
    for names, use, broke, mended, gift in (
        (
            "piano guitar trumpet flute harp accordion banjo",
            "play a song for everyone",
            "it stopped making any sound",
            "a bit of wire",
            "its sound made people stop in the street",
        ),
        (
            "ball doll balloon rocket car train robot puzzle teddy_bear spinning_top",
            "play with it all day",
            "it fell down and broke",
            "glue and a steady hand",
            "it had been waiting in the attic for years",
        ),
        (
            "crown sword shield cape mask medal necklace bracelet",
            "wear it at the great parade",
            "its clasp broke",
            "a drop of melted silver",
            "a king had worn it once",
        ),
        (
            "shoe boot coat glove jacket belt ribbon sweater",
            "go out in the cold",
            "its seam came open",
            "a needle and blue thread",
            "it fitted as if it had been made for {him}",
        ),
        (
            "cup plate pot pan kettle candle mirror vase",
            "set the table for the feast",
            "it got a long crack",
            "clay and patience",
            "it had been a present from a stranger",
        ),
        (
            "bicycle scooter wagon cart skateboard canoe",
            "ride to the end of the road",
            "its wheel came loose",
            "a strong screw",
            "it was faster than it looked",
        ),
        (
            "camera radio lamp telephone computer magnet flashlight",
            "see what nobody had seen before",
            "it went dark",
            "a new wire",
            "there was no other like it",
        ),
        (
            "stone shell coin diary letter photograph flag rope ladder shovel hammer",
            "show it to everyone",
            "it cracked in the middle",
            "a piece of string",
            "it had come a long way",
        ),
    )
    for name in (word.replace("_", " ") for word in names.split())
)
LETTERS = ("bcdfghjklmnprstvwz", "aeiou")
