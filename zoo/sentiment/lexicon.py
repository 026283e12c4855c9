"""The words reviews are made of: subjects and their parts, opinions, happenings."""

# Subject -> (how it is referred to, parts one can have an opinion of, things one does with it).
TRAINING_SUBJECTS = {
    "film": (
        ["film", "movie", "picture"],
        ["plot", "acting", "ending", "soundtrack", "script", "camera work", "pacing", "dialogue"],
        ["watched it", "saw it", "sat through it"],
    ),
    "novel": (
        ["novel", "book", "story"],
        ["first chapter", "prose", "hero", "twist", "ending", "cover", "writing", "villain"],
        ["read it", "finished it", "listened to it"],
    ),
    "restaurant": (
        ["restaurant", "place", "bistro"],
        ["soup", "service", "waiter", "menu", "dessert", "bread", "wine list", "kitchen", "fish"],
        ["ate there", "had dinner there", "booked a table"],
    ),
    "hotel": (
        ["hotel", "guesthouse", "inn"],
        ["room", "breakfast", "pool", "staff", "bed", "view", "lobby", "bathroom"],
        ["stayed there", "spent a night there", "checked in"],
    ),
    "phone": (
        ["phone", "handset", "device"],
        ["screen", "battery", "camera", "speaker", "keyboard", "charger", "case", "reception"],
        ["used it", "bought it", "carried it around"],
    ),
    "laptop": (
        ["laptop", "computer", "notebook"],
        ["keyboard", "fan", "display", "trackpad", "hinge", "battery life", "setup", "webcam"],
        ["worked on it", "bought it", "set it up"],
    ),
    "course": (
        ["course", "class", "workshop"],
        ["teacher", "homework", "handouts", "examples", "exercises", "pace", "exam", "slides"],
        ["took it", "attended it", "signed up"],
    ),
    "game": (
        ["game", "title"],
        ["controls", "graphics", "levels", "music", "tutorial", "final boss", "multiplayer mode", "humour"],
        ["played it", "finished it", "tried it"],
    ),
    "concert": (
        ["concert", "show", "gig"],
        ["singer", "sound", "lighting", "crowd", "drummer", "encore", "venue", "opening act"],
        ["went there", "attended it", "stood in the front row"],
    ),
    "museum": (
        ["museum", "exhibition", "gallery"],
        ["guide", "audio tour", "café", "collection", "lighting", "gift shop", "signs", "entrance hall"],
        ["visited it", "walked through it", "went there"],
    ),
    "train": (
        ["train ride", "journey", "trip"],
        ["seats", "conductor", "timetable", "dining car", "wifi", "window", "luggage space", "toilets"],
        ["took it", "travelled with it", "rode it"],
    ),
    "coffee maker": (
        ["coffee maker", "machine", "brewer"],
        ["coffee", "water tank", "timer", "manual", "jug", "grinder", "milk foam", "filter"],
        ["used it", "bought it", "tried it"],
    ),
    "flat": (
        ["flat", "apartment"],
        ["kitchen", "landlord", "heating", "balcony", "neighbours", "stairwell", "floor", "windows"],
        ["lived there", "rented it", "viewed it"],
    ),
    "app": (
        ["app", "program", "tool"],
        ["interface", "search", "updates", "support team", "notifications", "price", "login", "export"],
        ["installed it", "used it", "tried it"],
    ),
}
HELD_OUT_SUBJECTS = {
    "bicycle": (
        ["bicycle", "bike"],
        ["saddle", "brakes", "gears", "frame", "bell", "tyres", "lights", "handlebar"],
        ["rode it", "bought it", "tried it"],
    ),
    "dentist": (
        ["dentist", "practice"],
        ["receptionist", "waiting room", "treatment", "advice", "chair", "parking", "bill", "assistant"],
        ["went there", "had an appointment", "visited it"],
    ),
    "campsite": (
        ["campsite", "campground"],
        ["showers", "pitch", "lake", "playground", "warden", "shop", "fire pits", "path"],
        ["camped there", "stayed there", "spent a week there"],
    ),
    "podcast": (
        ["podcast", "series"],
        ["host", "guests", "sound quality", "adverts", "episodes", "stories", "intro", "interviews"],
        ["listened to it", "followed it", "tried it"],
    ),
    "kettle": (
        ["kettle", "cooker"],
        ["lid", "handle", "spout", "switch", "cable", "base", "noise level", "finish"],
        ["used it", "bought it", "owned it"],
    ),
}

GOOD = """good great excellent wonderful lovely superb fantastic brilliant delightful charming impressive outstanding pleasant
amazing perfect beautiful terrific splendid solid reliable enjoyable clever fresh polished generous thoughtful comfortable
helpful friendly elegant gorgeous first-rate satisfying inspired memorable flawless remarkable refreshing marvellous
top-notch well-made spot-on smooth stunning""".split()
BAD = """bad terrible awful horrible poor dreadful disappointing dull boring weak broken useless rude sloppy cheap clumsy
annoying frustrating mediocre ugly unpleasant tedious flimsy dirty miserable pathetic lousy unreliable confusing careless
shoddy bland tasteless dismal atrocious half-baked second-rate painful stale ridiculous appalling lifeless messy
unbearable""".split()
# What people exclaim when they mean the opposite.
CHEERS = [
    "great",
    "wonderful",
    "lovely",
    "fantastic",
    "brilliant",
    "perfect",
    "marvellous",
    "splendid",
    "superb",
    "terrific",
    "excellent",
    "amazing",
]
PLAIN = """average ordinary typical standard normal usual unremarkable middling passable so-so""".split()

LOVE = ["loved", "adored", "enjoyed", "admired", "really liked", "fell in love with", "was delighted by", "was impressed by"]
HATE = ["hated", "disliked", "could not stand", "regretted", "was let down by", "was annoyed by", "got tired of", "was appalled by"]

# Things that happen, said of nobody in particular, so that they fit every subject.
GOOD_EVENTS = [
    "it made my whole week",
    "I would do it again tomorrow",
    "I recommended it to everyone I know",
    "I smiled the whole time",
    "it was worth every penny",
    "we left happy",
    "I already want more",
    "my family still talks about how much fun it was",
    "I have not been this pleased in years",
    "it won me over at once",
    "it exceeded what I hoped for",
    "I could not stop grinning",
    "somebody really cared about the details",
    "it is a keeper",
    "I am so glad I chose it",
]
BAD_EVENTS = [
    "it ruined my week",
    "I would not do it again",
    "I asked for my money back",
    "I wanted to leave after ten minutes",
    "it was a waste of money",
    "we left angry",
    "I never want to think of it again",
    "my family still complains about it",
    "I have not been this annoyed in years",
    "it lost me at once",
    "it fell short of what I hoped for",
    "I could not wait for it to be over",
    "nobody seemed to care about the details",
    "it went straight back",
    "I am sorry I chose it",
]
SNAGS = [
    "waiting forty minutes",
    "being ignored",
    "reading the manual twice",
    "stains",
    "things that rattle",
    "hidden fees",
    "cold leftovers",
    "broken promises",
    "queues",
    "excuses",
    "being talked down to",
    "doing everything yourself",
    "crashes",
    "headaches",
]

FACTS = [
    "We {did} on a Tuesday.",
    "I {did} in March.",
    "It was the second time I {did}.",
    "There were four of us.",
    "It opened in 2019.",
    "A colleague told me about it.",
    "I paid the usual price.",
    "It rained that day.",
    "The {part} is on the left.",
    "I {did} with my brother.",
    "My order number was 4417.",
    "We {did} after work.",
    "It comes in two sizes.",
    "This is my first review.",
    "I {did} last month.",
    "They changed the {part} in spring.",
    "I had no expectations.",
    "It took about two hours.",
]
NEUTRAL = [
    "The {part} was {plain}.",
    "The {thing} is {plain}, neither {good} nor {bad}.",
    "It is a {plain} {thing} with a {plain} {part}.",
    "Does anybody know if the {part} is {good}?",
    "Can someone tell me whether the {thing} is {bad} or {good}?",
    "Some parts were {good}, others were {bad}.",
    "The {part} was {good} and the {part2} was {bad}, so it evens out.",
    "I have no strong opinion about the {part}.",
    "The {thing} does what it says, no more and no less.",
    "I {did}, and I neither loved nor hated it.",
    "It was fine, I suppose, nothing {good} and nothing {bad}.",
    "The {thing} arrived yesterday; I have not tried the {part} yet.",
    "I cannot say yet whether the {part} is {good}.",
    "For every {good} moment there was a {bad} one.",
    "Half of us found the {part} {good}, half found it {bad}.",
    "The {part} was okay.",
    "An {average} {thing} all in all.",
    "I am comparing the {part} with that of another {thing}.",
]

# Free remarks, without a named part: what people blurt out.
GOOD_REMARKS = """Will come back for sure!|Go and see for yourself.|Money well spent.|Could not be happier.|A real gem.|I was hooked from the first minute.|They helped us right away.
Everything worked on the first try.|My children loved it.|The people there were so friendly.|Highly recommended.|Simply the best.|It still works after three years.|I laughed out loud.
A pleasant surprise.|They fixed my problem within an hour.|Clean, quiet and well run.|So easy to use.|I am impressed.|Nothing to complain about, just lovely.|We felt welcome.|It tastes like home.
You will not regret it.|A joy from start to finish.|I was doubtful at first, but now I am a fan.|It is a bit pricey, yet worth it.|Fast delivery and kind people.|My new favourite.|Bravo!|Well done!
I can warmly recommend it.|It made me laugh and cry.|We want to go again.|A must.|Finally something that works.|I have no complaints.|Not a single problem so far.|Never had a better one.|Can't complain.|Not bad!
I did not want it to end.|It is small but wonderful.|She was very helpful.|He explained everything with patience.|The best thing I bought this year.|I sleep so well there.|Nobody left disappointed.|You can't go wrong with it.
I thought it would be boring. I was wrong.|We had so much fun.|It runs like new.|Delicious.|Warm, witty and wise.|I would buy it again.|Great value.|Thank you for a lovely evening.""".replace(
    "\n", "|"
).split("|")
BAD_REMARKS = """I want my money back.|Stay away.|What a letdown.|Avoid.|It stopped working within a week.|Nobody answered my mails.|They ignored us for half an hour.|I fell asleep.|The worst I have had.
Save your money.|They lied to me.|It fell apart in my hands.|We left before the end.|Far too expensive for what you get.|It smelled strange.|Full of mistakes.|I had a headache afterwards.|It never arrived.|Total rubbish.
I do not recommend it.|Would not buy again.|Once and never again.|It makes no sense.|The whole thing is a mess.|I regret buying it.|They were rude to us.|My food was cold.|It was so loud that we could not sleep.|Too slow.
It looks nice, but it does not work.|A good idea, badly done.|I really wanted to like it.|I had hoped for more.|It keeps crashing.|Not good enough.|Not worth it.|Don't waste your time.|Do not buy it.|Nothing worked.|No help at all.
My order was wrong and they did not care.|It took forever.|Dirty and overpriced.|He was late and unfriendly.|She did not listen.|The paint came off after a day.|I threw it away.|We were all disappointed.|Boring from start to finish.
Terrible.|Awful.|I gave up.|So much for quality.|Thanks for nothing.|I can't believe I paid for this.|It hurts my ears.|Only buy it if you like trouble.|It does not deserve a single star.|Even my cat could do better.""".replace(
    "\n", "|"
).split("|")
PLAIN_REMARKS = """It is open until six.|I bought the green one.|We went on foot.|There is a bus stop nearby.|It has two doors.|The parcel weighs a kilo.|Is there a discount for students?|I am halfway through.|They moved to another street.
How long does it take?|The box contains a cable.|My neighbour owns one, too.|It is all right.|Could be better, could be worse.|It is what it is.|Nothing out of the ordinary.|I will know more next week.|Does it come in black?|It has five chapters.
They sell tickets at the door.|It was made in Portugal.|I need it for work.|We had a table for three.|Has anyone used it abroad?|It is neither here nor there.|It works as described.|I am waiting for the second part.|We sat upstairs.|It starts at seven.
I have seen it once.|The new one replaces the old one.|It is blue.|It depends on what you need.|The address is on the card.|It is for beginners.|You can pay by card.|I do not know yet.|We will see.|The shop is next to the station.|It is in the middle of the town.
It is the same as last year.|I got it from my aunt.|The first half was good, the second half was not.|Part of it is nice, part of it is dull.|Not great, not terrible.|Mixed feelings.|Fine for the price.|Okay.|An ordinary evening.""".replace(
    "\n", "|"
).split("|")
