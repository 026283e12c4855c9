"""Plots that turn on a thing: lost, broken, borrowed, wished for, given away."""

from zoo.storyteller.openings import ending, friend, interruption, meet_friend, opening, pause
from zoo.storyteller.teller import Teller


def owning(teller: Teller) -> str:
    return teller.one(
        "own",
        "{he} had {a_thing}, and {gift}.",
        "The dearest thing {he} owned was {a_thing}. {gift}.",
        "{elder} had once given {him} {a_thing}. With it {he} could {use}.",
        "Every day {he} took out {a_thing} to {use}.",
    )


def lost(teller: Teller) -> list:
    first = [opening(teller), owning(teller)]
    second = [
        teller.one(
            "lost",
            "One day {the_thing} was gone. {^fault}, and now the [shelf|hook|box] was empty.",
            "On {day} {hero} reached for the {thing}, and it was not there. {fault}.",
            "But one evening {he} came home without the {thing}. {^fault}.",
        ),
        teller.one(
            "search",
            "{he} looked {spot}. Nothing. {he} looked {spot2}. Nothing but [dust|an old shoe|a sleeping beetle].",
            "{he} searched the whole house, and then {he} searched {spot}, and then {he} sat down and cried a little.",
            '"Think," {he} told {himself}. "Where did you last {use}?" {he} walked back the way {he} had come.',
        ),
        meet_friend(teller),
        teller.one(
            "ask",
            '"Have you seen my {thing}?" asked {hero}. "No," said {friend}, "but [four eyes see more than two|I am good at finding things|I will help you look]."',
            '"Why are you so sad?" asked {friend}. "I have lost my {thing}," said {hero}. "Then we will look for it together," said {friend}.',
            '{friend} listened to the whole story. "Lost things like company," {friend.he} said. "Let us look where it is [darkest|quietest|warmest]."',
        ),
        interruption(teller),
    ]
    how = teller.random.randrange(4)
    teller.beat(f"found{how}")
    third = [
        [
            "At last they saw something [shine|move|peep out] {spot3}. It was the {thing}! A [mouse|bird|beetle] had made a [nest|bed|home] in it, with three tiny [babies|eggs] inside.",
            '"We cannot take it now," said {hero}. {^strength}, and so they waited until the little ones were [big enough to leave|grown]. Then {hero} carried the {thing} home.',
        ],
        [
            "{spot3} they found a trail of [crumbs|footprints|tiny scratches]. It led to {elder}, who held the {thing} in {elder.his} hands.",
            '"I found it on the path," said {elder}, "and I did not know whose it was. So I [kept it warm|polished it|waited for somebody sad to come by]." {hero} [hugged {elder.him}|thanked {elder.him} three times].',
        ],
        [
            'Then {friend} stopped. "{hero}," {friend.he} said slowly, "what is that on your [back|own head|shoulder]?"',
            "It was the {thing}. {hero} had carried it around all day long. {he} turned red, and then both of them laughed until their bellies hurt.",
        ],
        [
            "They found the {thing} {spot3}, but it was not alone. A small [child|kitten|lamb] was holding it and would not let go.",
            '"It was lonely," said {hero} softly, "and so was my {thing}." {he} thought for a while. Then {he} [let the little one keep it until morning|sat down beside the little one and they shared it]. In the morning the {thing} lay in front of {his} door, with a flower tied to it.',
        ],
    ][how]
    lesson = "{hero} had learned that [things get lost, but friends do not|a thing is worth more when you have missed it|it is good to ask for help]."
    return [first, second, [teller.say(text) for text in third], [pause(teller), ending(teller, lesson)]]


def broken(teller: Teller) -> list:
    first = [opening(teller), friend(teller)]
    second = [
        teller.one(
            "need",
            "The [summer feast|great day|harvest dance] was near, and {hero} wanted to {use}.",
            "{hero} had promised everyone to {use}.",
            "All week {hero} had been looking forward to one thing: to {use}.",
        ),
        teller.say("But when {he} took out {the_thing}, {breaks}."),
        teller.one(
            "react",
            '"Oh no," {he} whispered. "What now?"',
            "{he} [stamped {his} foot|turned pale|sat down on the floor]. It was {his} own fault: {fault}.",
            '"It was old anyway," {he} said, but {his} voice shook.',
        ),
        teller.one(
            "who",
            '{friend} came and looked at the damage. "It can be mended," {friend.he} said. "All we need is {mended}."',
            '{he} carried it to {elder}. "Hm," said {elder}. "Bring me {mended}, and a little patience."',
            '{friend} and {elder} put their heads together. "{mended}," they said at the same time.',
        ),
        interruption(teller),
    ]
    third = teller.one(
        "mend",
        "They looked {spot} and they looked {spot2}, and there it was: just what they needed. All afternoon they worked. When they were done, the {thing} was not as [pretty|new|smooth] as before, but it was stronger.",
        "{hero} tried once, and it fell apart. {he} tried again, and it held for a moment. The third time {friend} held one end and {hero} held the other, and it stayed.",
        'It took [all day|half the night|three tries and one burnt finger]. "There," said {friend} at last. One could see the place where it had been broken, and {hero} found that this was the most beautiful part.',
        '{hero} did not want to wait, so {he} hurried, and it broke again. "Slowly," said {elder}. "Mending is not a race." This time {hero} [took a deep breath|counted to ten|listened], and it worked.',
    )
    fourth = [
        teller.one(
            "use",
            "When the day came, {hero} could {use} after all, and everyone [clapped|cheered|came to watch].",
            "Then, at last, {hero} went out to {use}. It was [better than ever|even more fun than before].",
            '"Go on," said {friend}, "try it." And {hero} did. It worked!',
        ),
        ending(
            teller,
            "[What is mended with care lasts twice as long|A scar is only a story that one can see|Together they could mend almost anything], {hero} thought.",
        ),
    ]
    return [first, second, [third], fourth]


def given_away(teller: Teller) -> list:
    first = [opening(teller), owning(teller)]
    second = [
        teller.say("On {day} {he} took it along to {other_place}."),
        teller.one(
            "needy",
            'There {he} met {friend}, a {friend.kind} {friend.look}, who [was crying|sat alone|shivered]. "I need a {thing} more than anything," said {friend.he}, "but I have none."',
            'By the road sat {friend} the {friend.kind} with empty hands. "Everyone else has a {thing}," {friend.he} said quietly. "Only I do not."',
        ),
        teller.one(
            "give",
            '{hero} held {his} {thing} very tightly. It was hard to let go. But {strength}. "Take it," {he} said.',
            '{hero} thought about it all the way to the corner. Then {he} came back. "It is yours now," {he} said, and walked away quickly, so that {he} would not change {his} mind.',
            '"You can have mine," said {hero}. {friend} looked at {him} with big eyes. "For ever?" "For ever," said {hero}, and swallowed.',
        ),
    ]
    third = [
        teller.one(
            "miss",
            "At home the [shelf|corner|windowsill] looked empty. {hero} was a little sad and a little glad at the same time.",
            "That evening {he} missed {his} {thing}. But when {he} thought of {friend.his} face, {he} felt warm.",
            "{he} told nobody about it.",
        ),
        interruption(teller),
        teller.one(
            "return",
            'Weeks later a thick fog came up, and {hero} was lost {at_place}. Suddenly {he} heard a voice. It was {friend}, with the {thing} in {friend.his} hand. "Come," said {friend}, "now it is my turn to help."',
            'In {season} somebody knocked on the door. It was {friend}. "I made you something," {friend.he} said, and gave {hero} a {other_thing}. It was a little crooked, and it was the best {other_thing} in the world.',
            'One day {elder} asked, "Where is your {thing}?" {hero} told the truth. {elder} said nothing, but the next morning a new {other_thing} lay in front of the door, with a note: "For someone who can give."',
            "Then, one by one, others began to do the same. The [baker gave away|miller gave away] bread, the children gave away toys, and nobody had less than before.",
        ),
    ]
    return [
        first,
        second,
        third,
        [ending(teller, "What you give away [comes back on other roads|stays with you longest|grows], people say.")],
    ]


def wished_for(teller: Teller) -> list:
    makes = teller.chance(0.4)
    first = [
        opening(teller),
        teller.one(
            "wish",
            "More than anything {he} wanted {a_thing}, to {use}.",
            "In the window of a shop {he} had seen {a_thing}, and since then {he} thought of nothing else.",
            "All the others had {a_thing}. Only {hero} had none.",
        ),
    ]
    second = [
        teller.one(
            "price",
            "But it cost [ten silver coins|more than {he} had|seven coins], and {hero} had [only two|only one, and that one was bent|nothing but a button].",
            '"Too expensive," said {elder}. "But there is always work for [quick hands|someone who wants to work]."',
        ),
        meet_friend(teller),
        teller.say(
            '"Then we make one ourselves," said {friend}. They gathered [wood and string|cloth and glue|nails and wire] and began.'
            if makes
            else "[Together they [swept the steps|picked apples|carried water] for {elder}, day after day.|So {hero} [washed windows|delivered letters|looked after the geese], and {friend} helped. Coin by coin the jar filled up.]"
        ),
        interruption(teller),
    ]
    made = [
        "When it was done it looked [strange|crooked|nothing like the one in the shop]. But it worked, and nobody else in the world had one like it.",
        "They worked until the stars came out. In the end it had [one corner too many|two left sides|a hole in the middle], and {hero} loved it more than any {thing} in any shop.",
        "At last {hero} held {his} own {thing} in {his} hands. It was a little crooked. The best part had been the work with {friend}, and {he} noticed that {he} already missed it.",
    ]
    earned = [
        "On the day when {he} finally had enough, {hero} saw that {friend} was walking [in broken shoes|without a coat]. {he} stood still for a long time. Then {he} bought [new shoes|a warm coat] instead of the {thing}. {friend} did not know what to say.",
        "At last {hero} held the {thing} in {his} hands. It was lovely. And yet the best part had been the work with {friend}, and {he} noticed that {he} already missed it.",
        'When {hero} came to the shop, the {thing} was gone. {he} walked home slowly. And there, on the table, it stood: {elder} had [bought|kept] it for {him}. "You [worked for it|have earned it]," said {elder}.',
    ]
    third = [teller.one("made" if makes else "earned", *(made if makes else earned))]
    return [
        first,
        second,
        third,
        [
            pause(teller),
            ending(
                teller,
                "{hero} understood that [wanting is easy and making is better|some things cannot be bought|waiting makes a thing sweeter].",
            ),
        ],
    ]


def borrowed(teller: Teller) -> list:
    first = [opening(teller), friend(teller), teller.say("{friend} owned {a_thing}, and {hero} [loved|admired|envied] it.")]
    second = [
        teller.one(
            "borrow",
            '"May I borrow it?" asked {hero}. "Only until tonight," said {friend}, "and only if you are careful." "I promise," said {hero}.',
            "One day {hero} took it without asking. {he} only wanted to {use}, just once.",
            '"You may use it for one day," said {friend}. "It is the dearest thing I have."',
        ),
        teller.say("{hero} took it {at_other_place} and began to {use}. But {fault}, and suddenly {breaks}."),
        teller.one(
            "hide",
            "{hero}'s heart beat fast. {he} hid the {thing} {spot} and went home another way.",
            '"I will say that the wind did it," {he} thought. But the words tasted [bitter|like old soap].',
            "{he} wanted to run away. Then {he} wanted to cry. In the end {he} did neither.",
        ),
    ]
    third = [
        teller.one(
            "confess",
            'In the evening {friend} asked, "Where is my {thing}?" {hero} looked at the floor. "I broke it," {he} said. "I am sorry." It was very quiet. "Thank you for telling me," said {friend} at last. "That was harder than anything else you did today."',
            'All night {he} could not sleep. At sunrise {he} knocked on {friend}\'s door. "It was me," {he} said, and told everything. {friend} was angry for as long as it takes to boil an egg. Then {friend.he} [sighed|smiled a little]. "Let us see what we can do."',
            '{elder} saw {his} face and asked what was wrong. {hero} told the truth. "A broken {thing} can be mended," said {elder}. "A lie is more work." So {hero} went to {friend} and told {friend.him} everything.',
        ),
        teller.one(
            "repair",
            "Together they mended it with {mended}.",
            "With {mended} it was soon as good as new, or nearly.",
            "{hero} gave {friend} {his} own {other_thing} instead. {friend} tried to refuse, but {hero} [shook {his} head|would not hear of it].",
        ),
    ]
    return [first, second, third, [ending(teller, "The truth is [heavy to pick up and light to carry|a good mender], {hero} thought.")]]


PLOTS = {"lost": lost, "broken": broken, "given_away": given_away, "wished_for": wished_for, "borrowed": borrowed}
