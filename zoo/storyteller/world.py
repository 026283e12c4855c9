"""Who there is to tell of: creatures, people, names, traits; and the weather."""

# kind -> looks; "it" is never used: everyone in these stories is a she or a he.
ANIMALS = {
    "fox": ["with one white ear", "with a tail too big for {him}", "the colour of autumn leaves"],
    "hedgehog": ["with very round cheeks", "who smelled of apples", "no bigger than a teacup"],
    "rabbit": ["with long grey ears", "who could never sit still", "with a patch over one eye"],
    "mouse": ["with a crooked tail", "who wore a thimble for a hat", "as small as a walnut"],
    "owl": ["with ruffled feathers", "who was awake at the wrong hours", "with eyes like two moons"],
    "badger": ["with muddy paws", "with a silver stripe", "who walked slowly and thought a lot"],
    "otter": ["with wet whiskers", "who laughed at everything", "who could swim before {he} could walk"],
    "squirrel": ["with a torn ear", "the colour of chestnuts", "who counted everything twice"],
    "bear": ["with enormous paws", "who was always a little hungry", "with honey on {his} nose"],
    "duckling": ["with one black feather", "who was the last to hatch", "as yellow as butter"],
    "frog": ["with a very loud voice", "as green as new grass", "who was proud of {his} long legs"],
    "mole": ["with tiny glasses", "who knew every tunnel under the hill", "in a velvet coat"],
    "goat": ["with a bell around {his} neck", "with crooked horns", "who ate whatever {he} found"],
    "crow": ["with a bent feather", "who collected shiny things", "as black as ink"],
    "turtle": ["with a mossy shell", "who was never in a hurry", "with a chip in {his} shell"],
    "cat": ["with striped paws", "who belonged to nobody", "with a voice like a door hinge"],
    "dog": ["with floppy ears", "who followed everyone home", "with one brown eye and one blue eye"],
    "heron": ["with thin legs", "who liked to stand alone", "as grey as rain"],
    "bat": ["with soft wings", "who was afraid of loud noises", "no bigger than a plum"],
    "snail": ["with a golden shell", "who left a silver line wherever {he} went", "who carried {his} house with pride"],
    "donkey": ["with a stubborn nose", "with dusty ears", "who knew the way home in the dark"],
    "penguin": ["with a red scarf", "who loved warm places", "who walked as if the floor were ice"],
    "dragon": ["no bigger than a sheep", "who breathed smoke but never fire", "with blue scales"],
}

PEOPLE = {
    "girl": ["with two long braids", "with ink on her fingers", "with pockets full of pebbles"],
    "boy": ["with a gap in his teeth", "with grass stains on his knees", "with hair that stood straight up"],
    "baker": ["with flour in {his} eyebrows", "who got up before the birds", "whose bread could be smelled three streets away"],
    "lighthouse keeper": ["who knew every ship by its horn", "with a beard of sea salt", "who counted the waves at night"],
    "letter carrier": ["with a leather bag", "who knew every door in the valley", "who never lost a letter"],
    "clockmaker": ["with a magnifying glass around {his} neck", "who was always on time", "whose house ticked in every corner"],
    "gardener": ["with green thumbs", "who talked to the beans", "in a straw hat full of holes"],
    "tailor": ["with pins in {his} sleeve", "who could sew in the dark", "whose coats never tore"],
    "shepherd": ["with a whistle made of bone", "who knew each sheep by name", "in a patched green coat"],
    "knight": ["whose armour squeaked", "who had never seen a battle", "on a very small horse"],
    "wizard": ["whose spells mostly went wrong", "with stars on {his} slippers", "who could not find {his} hat"],
    "librarian": ["who whispered even outdoors", "with three pairs of glasses", "who remembered every book {he} had read"],
    "robot": ["with a dent in {his} chest", "with two round lamps for eyes", "who hummed while thinking"],
    "giant": ["who had to bend down to see the rooftops", "who was careful where {he} stepped", "with birds in {his} hair"],
    "painter": ["with blue paint on {his} nose", "who saw colours no one else saw", "who painted every day, rain or shine"],
    "sailor": ["who had crossed seven seas", "who slept better on water than on land", "with a parrot that never spoke"],
    "ghost": ["who was too polite to scare anyone", "as thin as mist", "who lived behind the clock"],
}

OLD = {
    "he": [
        "grandfather",
        "old ferryman",
        "old fisherman",
        "old miller",
        "old beekeeper",
        "old watchman",
        "carpenter",
        "old toad",
        "old tortoise",
        "blacksmith",
    ],
    "she": [
        "grandmother",
        "old weaver",
        "old beekeeper",
        "old teacher",
        "ferrywoman",
        "old goose",
        "potter",
        "old owl",
        "candle maker",
        "wise old hare",
    ],
}

SHE = """Mira Lena Tilla Nora Ada Juna Pia Wren Hazel Olive Ivy Maya Rosa Sela Tess Vera Willa Zoe Anouk Bea Clara Dora Edith Fern Greta
Hilda Ines Jola Kira Lotte Marta Nell Oda Petra Rika Suri Thea Una Vivi Yara Alma Birdie Cora Elin Flora Gilda Hana Ida Lila Minna""".split()

HE = """Tom Otto Finn Ben Leo Max Oskar Emil Jonas Karl Milo Nico Pip Rolf Sami Theo Ugo Vito Wim Yan Anton Bruno Casper Dov Elias
Felix Gus Hugo Ivo Jasper Kasimir Linus Magnus Noel Olli Paul Quentin Remy Silas Tarik Urban Viktor Walter Zeno Arlo Bo Curt Egon Fritz Hanno""".split()

SYLLABLES = "ba be bo da de di do fa fi ga go ka ki ko la le li lo lu ma me mi mo na ne ni no pa pe pi po ra re ri ro sa se si so ta te ti to va ve vi zo".split()

# trait -> (how it shows, what it leads to when things go wrong, what it is good for)
TRAITS = {
    "curious": (
        "{he} always asked one more question than anyone could answer",
        "{he} had been looking at everything except where {he} was going",
        "{he} noticed what everyone else had missed",
    ),
    "careless": ("{he} left things wherever {he} stood", "{he} had not been paying attention at all", "{he} had learned to look twice"),
    "brave": ("{he} was the first to jump into cold water", "{he} had rushed ahead without thinking", "{he} did not run away"),
    "shy": (
        "{he} hid behind the nearest tree when somebody said hello",
        "{he} had been too shy to ask for help",
        "{he} listened better than anyone",
    ),
    "stubborn": ("once {he} had said no, even the wind could not change it", "{he} had refused to listen", "{he} did not give up"),
    "proud": ("{he} liked to tell people how clever {he} was", "{he} had been too proud to be careful", "{he} wanted to do it properly"),
    "patient": (
        "{he} could watch a snail cross the whole garden",
        "{he} had waited a little too long",
        "{he} took all the time that was needed",
    ),
    "impatient": ("{he} finished eating before others sat down", "{he} could not wait even one minute", "{he} was quick when it mattered"),
    "kind": (
        "{he} said good morning even to the stones",
        "{he} had been helping somebody else at that moment",
        "{he} thought of the others first",
    ),
    "clever": ("{he} could untie any knot", "for once {he} had not thought it through", "{he} had an idea"),
    "dreamy": ("{he} often forgot what day it was", "{he} had been dreaming with open eyes", "{he} could imagine what was not there yet"),
    "cheerful": (
        "{he} sang in the rain",
        "{he} had been singing so loudly that {he} heard nothing",
        "{he} made everyone laugh, and then it was easier",
    ),
}

SEASONS = {
    "spring": ("a mild spring morning", "the first warm day of the year", "a windy day in April"),
    "summer": ("a bright summer morning", "the longest day of summer", "a hot afternoon in July"),
    "autumn": ("a golden autumn day", "a foggy morning in October", "a windy autumn evening"),
    "winter": ("a clear winter morning", "the coldest day of the year", "a snowy afternoon in January"),
}

STORMS = (
    "dark clouds rolled over the hills",
    "it began to rain, first softly and then in buckets",
    "a thick fog came up",
    "the wind rose until everything rattled",
    "thunder grumbled far away",
)

FOODS = (
    "pancakes",
    "plum cake",
    "hot soup",
    "warm bread with honey",
    "apple pie",
    "potato soup",
    "cinnamon rolls",
    "roasted chestnuts",
    "blueberry jam",
    "gingerbread",
)
