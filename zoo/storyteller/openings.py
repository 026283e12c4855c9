"""How a story begins, what may come between, and how it ends: beats that every plot shares."""

from zoo.storyteller.teller import Teller


def opening(teller: Teller) -> str:
    """Who, where and when, in one of many orders."""
    hero = teller.one(
        "opening",
        "Once upon a time there was a [little|small|young] {hero.kind} [named|called] {hero}, {hero.look}. {he} lived {at_place}.",
        "{hero} was a {hero.kind} {hero.look}. {he} lived {at_place}, where {sound} and the air smelled of {smell}.",
        "[Not far from here|Far away|In a country without roads], {at_place}, lived a {hero.kind} [named|called] {hero}.",
        "There once was a {trait} {hero.kind} whose name was {hero}. {he} lived {at_place}, among {sight}.",
        "It was {day}. {at_place} {sound}, and a {hero.kind} [named|called] {hero} was already awake.",
        "Everyone {at_place} knew {hero} the {hero.kind}.",
        "On {day} a {hero.kind} named {hero} [came to|walked to|stood {at_place} and looked at] {place}.",
        "{hero} the {hero.kind} had [a small house|a warm room|a crooked little house] {at_place}. From the window {he} could see {sight}.",
        '"Wait for me!" [called|cried] {hero}. {he} was a {hero.kind} {hero.look}, and {he} was late again. It was {day} {at_place}.',
        "{sound}. The air smelled of {smell}. It was {day} {at_place}, and {hero} the {hero.kind} was looking out of the window.",
        "This is the story of {hero}, a {hero.kind} {hero.look}. It happened {at_place}, on {day}.",
        "Have you ever been {at_place}? If you have, you may know {hero} the {hero.kind}.",
        "Nobody {at_place} could say how long {hero} the {hero.kind} had lived there, not even {hero} {himself}.",
        "In the days when [the hills were young|people still talked to the wind|the moon was closer], a {hero.kind} called {hero} lived {at_place}.",
    )
    # "walked to the harbour" and "stood at the harbour and looked at the harbour" are tidied here, where both are known.
    hero = hero.replace(f"{teller.place.at} and looked at the {teller.place.name}", f"{teller.place.at} and looked around")
    parts = [hero]
    if teller.chance(0.6):
        parts.append(
            teller.one(
                "trait",
                "{hero} was {trait}: {shows}.",
                "{he} was a {trait} {hero.kind}, and {shows}.",
                "[People|The neighbours] said that {hero} was {trait}, because {shows}.",
            )
        )
    return " ".join(parts)


def friend(teller: Teller) -> str:
    return teller.one(
        "friend",
        "{his} best friend was {friend} the {friend.kind}.",
        "Most days {he} [played|walked|sat] with {friend}, a {friend.kind} {friend.look}.",
        "Next door lived {friend}, a {friend.kind}, and the two of them [did everything together|were never seen apart].",
        "{he} had one good friend, a {friend.kind} named {friend}.",
    )


def meet_friend(teller: Teller) -> str:
    return teller.one(
        "meet",
        "Just then {friend} the {friend.kind} came along.",
        "On the way {he} met {friend}, a {friend.kind} {friend.look}.",
        "A {friend.kind} named {friend} had been watching from a distance.",
        "There {he} found {friend} the {friend.kind}, who was [eating|having] {food}.",
    )


def interruption(teller: Teller) -> str:
    """A turn that makes things harder; sometimes there is none."""
    if teller.chance(0.55):
        return ""
    return teller.one(
        "turn",
        "Then {storm}.",
        "To make things worse, {storm}.",
        "It was getting late, and the shadows grew long.",
        "{hero} was tired, and {his} [feet|legs] hurt. For a moment {he} wanted to give up.",
        "[A crow|A magpie|A passing goose] laughed and flew away.",
        '"This will never work," {hero} [said|sighed|murmured]. But {strength}.',
    )


def pause(teller: Teller) -> str:
    """A breath of quiet: something seen, heard or eaten."""
    if teller.chance(0.5):
        return ""
    return teller.one(
        "pause",
        "For a while they sat and listened. {sound}.",
        "They shared some {food} and said nothing for a while.",
        "The air smelled of {smell}.",
        "Around them were {sight}, and nobody was in a hurry.",
        "{hero} looked up. The sky had turned [pink|violet|the colour of peaches|deep blue].",
    )


def ending(teller: Teller, lesson: str = "") -> str:
    texts = [
        "That evening they ate {food} together, and {hero} told the story from the beginning.",
        "When the stars came out, {hero} was already asleep, and {he} was smiling.",
        "From that day on, {hero} and {friend} [met every week|were never apart for long|had a secret that nobody else knew].",
        "And if you ever come to {place}, you may still [hear people tell of it|see the two of them there].",
        "{hero} went home slowly. {sound}, and everything was just as it should be.",
        '"Tomorrow," said {friend}, "let us do [something easier|nothing at all|it all over again]." And they both laughed.',
        'When {elder} asked how the day had been, {hero} only said, "[Long|Full|Good]." But {his} eyes were shining.',
        "Outside {sound}. Inside it was warm, and {hero} was [content|happy|at home].",
        "Years later, when {hero} was old and grey, {he} still told this story, and every time it got a little longer.",
        "The moon came up and looked down on {place}, and it seemed to be pleased.",
        "And that is the whole story, except for the {food}, which {hero} ate all alone.",
        '"And then?" the little ones ask when they hear this story. "Then," says {hero}, "it was time for bed."',
        "{he} hung a small lantern at the door that night, in case somebody else was looking for the way.",
        "They laughed so much that [even {elder} joined in|the birds flew up|they had to sit down].",
        'That night {hero} wrote only one line in {his} diary: "[It was a good day|Today I was lucky|I have a friend]."',
    ]
    if "friend" not in teller.mentioned:
        texts = [text for text in texts if "friend" not in text and "hey " not in text and "two of them" not in text]
    close = teller.one("ending", *texts)
    if lesson and teller.chance(0.55):
        return f"{teller.say(lesson)} {close}"
    return close
