"""Places with their hiding spots, sounds, smells and sights."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    name: str
    at: str
    spots: tuple
    sounds: tuple
    smells: tuple
    sights: tuple


PLACES = [
    Place(
        "harbour",
        "at the harbour",
        ("under an upturned boat", "between two barrels", "behind the fishing nets", "at the end of the long pier"),
        ("the gulls were quarrelling", "the ropes creaked", "small waves slapped the stones"),
        ("salt and tar", "fresh fish"),
        ("boats with red sails", "a row of crooked houses"),
    ),
    Place(
        "forest",
        "in the forest",
        ("inside a hollow oak", "under a pile of leaves", "behind the big mossy stone", "between the roots of a beech"),
        ("a woodpecker was knocking", "the leaves whispered", "somewhere a twig cracked"),
        ("moss and mushrooms", "pine needles"),
        ("spots of sunlight on the ground", "ferns as high as a horse"),
    ),
    Place(
        "market",
        "at the market",
        ("under the cheese stand", "in a crate of cabbages", "behind the flower cart", "beside the old fountain"),
        ("someone was shouting about fresh plums", "coins were clinking", "a barrel organ played"),
        ("warm bread and oranges", "cinnamon"),
        ("pyramids of apples", "bright cloth in the wind"),
    ),
    Place(
        "mill",
        "at the old mill",
        ("between the flour sacks", "under the great wheel", "on top of the highest beam", "behind the wooden stairs"),
        ("the wheel turned slowly", "the stones hummed", "water rushed below the floor"),
        ("flour and wet wood", "grain"),
        ("dust dancing in the light", "white footprints everywhere"),
    ),
    Place(
        "lighthouse",
        "at the lighthouse",
        ("on the ninety-ninth step", "behind the great lamp", "under the spiral stairs", "among the wet rocks"),
        ("the wind sang in the keyhole", "the waves boomed", "a foghorn moaned"),
        ("oil and seaweed", "cold stone"),
        ("the beam sweeping over the sea", "ships as small as beetles"),
    ),
    Place(
        "meadow",
        "in the meadow",
        ("in the tall grass", "under the lonely apple tree", "beside the molehill", "among the poppies"),
        ("the crickets were singing", "bees hummed", "a lark climbed into the sky"),
        ("clover and warm earth", "cut hay"),
        ("a hundred white daisies", "butterflies like scraps of paper"),
    ),
    Place(
        "mountain",
        "on the mountain",
        ("behind a waterfall", "under a ledge of rock", "in a small cave", "beside the stone cairn"),
        ("an echo answered every word", "pebbles rolled down the slope", "the wind howled a little"),
        ("snow and thyme", "cold clear air"),
        ("clouds far below", "the whole valley like a painted plate"),
    ),
    Place(
        "river",
        "by the river",
        ("among the reeds", "under the wooden bridge", "on a flat grey stone", "in the roots of the willow"),
        ("the water chattered over the pebbles", "a fish jumped", "frogs croaked"),
        ("mud and mint", "wet leaves"),
        ("dragonflies like blue needles", "the clouds floating upside down"),
    ),
    Place(
        "orchard",
        "in the orchard",
        ("in the fork of the oldest tree", "under a basket", "behind the ladder", "in the long grass by the wall"),
        ("ripe plums fell with soft thuds", "wasps buzzed", "branches creaked"),
        ("apples and smoke", "sweet pears"),
        ("rows and rows of crooked trees", "red fruit shining like lamps"),
    ),
    Place(
        "library",
        "in the old library",
        ("behind the tallest shelf", "between two heavy atlases", "under the reading desk", "on top of the rolling ladder"),
        ("pages rustled", "the floor squeaked", "a clock ticked politely"),
        ("dust and old paper", "candle wax"),
        ("more books than anyone could count", "a globe as big as a barrel"),
    ),
    Place(
        "station",
        "at the train station",
        ("under the long bench", "beside the ticket window", "behind the luggage cart", "on the last platform"),
        ("a train whistled", "suitcases rattled", "the loudspeaker crackled"),
        ("coal smoke and coffee", "rain on iron"),
        ("people waving white handkerchiefs", "a clock with two faces"),
    ),
    Place(
        "garden",
        "in the garden",
        ("under the rhubarb leaves", "behind the watering can", "among the pumpkins", "beside the compost heap"),
        ("the bees were busy", "a spade scraped somewhere", "sparrows argued in the hedge"),
        ("tomatoes and wet soil", "lavender"),
        ("sunflowers taller than the fence", "beans climbing to the sky"),
    ),
    Place(
        "beach",
        "on the beach",
        ("half buried in the sand", "under a piece of driftwood", "in a rock pool", "among the seashells"),
        ("the sea sighed in and out", "a gull laughed", "the wind hissed over the dunes"),
        ("salt and sunshine", "seaweed"),
        ("footprints leading nowhere", "a ship on the edge of the world"),
    ),
    Place(
        "castle",
        "at the castle",
        ("in an empty suit of armour", "under the narrow stairs", "behind a dusty curtain", "on the highest tower"),
        ("doors slammed by themselves", "footsteps echoed", "flags flapped in the wind"),
        ("cold stone and candles", "old velvet"),
        ("a hundred windows", "portraits with serious faces"),
    ),
    Place(
        "marsh",
        "in the marsh",
        ("on a little island of grass", "behind the crooked willow", "among the cattails", "under the old plank road"),
        ("something gurgled", "toads sang in the dusk", "reeds rustled"),
        ("mist and peat", "wild mint"),
        ("small blue lights far away", "herons standing like grey posts"),
    ),
    Place(
        "village square",
        "in the village square",
        ("under the stone bench", "behind the well", "beside the bakery door", "in the branches of the lime tree"),
        ("the church bell rang", "pigeons cooed", "somebody practised the trumpet"),
        ("fresh rolls", "lime blossom"),
        ("washing on every line", "a dog asleep in the sun"),
    ),
    Place(
        "attic",
        "in the attic",
        ("in a trunk full of costumes", "behind the chimney", "under a broken chair", "inside a grandfather's boot"),
        ("the rain drummed on the roof", "the beams creaked", "a mouse ran along the wall"),
        ("dust and lavender", "old wood"),
        ("cobwebs like silver curtains", "a round window full of sky"),
    ),
    Place(
        "bakery",
        "in the bakery",
        ("behind the flour barrel", "on the highest shelf", "under the counter", "beside the warm oven"),
        ("the oven crackled", "trays clattered", "someone whistled over the dough"),
        ("sugar and yeast", "warm bread"),
        ("rolls lined up like soldiers", "windows white with steam"),
    ),
    Place(
        "snowy valley",
        "in the snowy valley",
        ("in a deep snowdrift", "under the frozen bridge", "behind the woodpile", "beside the snowman"),
        ("snow crunched", "everything was quiet", "an icicle dropped and rang like glass"),
        ("frost and chimney smoke", "cold pine"),
        ("roofs like sugar cakes", "a thousand sparkling points of light"),
    ),
    Place(
        "island",
        "on the island",
        ("behind the only palm tree", "in a cave above the tide", "under the beached rowboat", "between two tall rocks"),
        ("the waves rolled in", "parrots screeched", "coconuts dropped with a thud"),
        ("salt and warm fruit", "campfire smoke"),
        ("water on every side", "crabs marching in a line"),
    ),
]
