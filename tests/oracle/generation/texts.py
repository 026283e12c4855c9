"""Texts to train and to compare with: languages, scripts, code, white space of all sorts, and random mixtures of them."""

import random

SENTENCES = [
    "The quick brown fox jumps over the lazy dog. It's what they've always done, isn't it?",
    "Once upon a time there was a fox named Mira, who lived by the sea and couldn't sleep.",
    "Am Fluss steht eine Mühle; der Müller heißt Jörg und mag süße Äpfel.",
    "Το ποτάμι γυρίζει τον μύλο, και ο μυλωνάς τραγουδάει.",
    "Река вращает колесо мельницы, и мука сыплется в мешок.",
    "川の水が水車を回し、粉屋は歌を歌います。",
    "河水推动水车，磨坊主人唱歌。",
    "النهر يدير الطاحونة، والطحان يغني.",
    "नदी चक्की को घुमाती है और चक्कीवाला गाता है।",
    "강물이 물레방아를 돌리고 방앗간 주인은 노래합니다.",
    "for (let i = 0; i < 10; i++) { console.log(`value: ${i}`); }",
    "def run(self, x: int = 3) -> dict:\n\treturn {'a': x ** 2, \"b\": [1, 2.5e-3]}\n",
    "Prices: 1,234.56 EUR, 20% off, #42, a@b.example, https://example.org/?q=1&r=2",
    "Wow 😀👍🏽 👩‍👩‍👧‍👦 🇪🇺 — “quoted” … ½ ② ﬁne ™",
]

EDGES = [
    "",
    " ",
    "  two  spaces   three    four ",
    "\n\n\r\n\t tabs\tand\nlines\n",
    "no-break\u00a0space, thin\u2009space, ideographic\u3000space, zero\u200bwidth, next\u0085line, bom\ufeffinside",
    "e\u0301 combining, \u0307\u0323 marks, A\u030a",
    "\ufeffstarts with a byte order mark",
    "NUL \x00 and \x1b control \x7f",
    "a" * 300,
    "ab" * 200 + " " * 60 + "!" * 50,
    "▁ the sign for spaces ▁▁ itself",
    "<0x41> is no byte, nor is <0xZZ>",
    "before<|end|>after <|user|> <s> </s> <unk> [CLS]x[SEP] <tool> naïve café.",
    "ÀÉÎÕÜ ẞß ΑΣ ς İı ǅ",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 \U0010ffff \ue000",
    "1234567890 ١٢٣ Ⅻ 三千",
    "don't DON'T we'll I'M he'd 'tis",
    "word" + "\u00ad" + "soft\u2028line\u2029paragraph\u0b0cvertical\x0b\x0c",
]

ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz",
    "etaoin shrdlu ",
    "ABC'sdtm ",
    "0123456789.,",
    " \t\n\r",
    ".,;:!?()[]{}<>|/\\'\"`~@#$%^&*-_=+",
    "äöüßéèñçøåœ",
    "αβγδεζηθ",
    "абвгдежз",
    "水車川日本語",
    "ابتثجح",
    "नदीकोघ",
    "😀👍🏽👩\u200d🇪🇺",
    "\u0301\u0308\u200b\u00a0\u2009\u3000",
    "▁<0x41>",
    "\u0085\ufeff!a ",
    "ΑΣ ΣΟΣ ςσ",
]


def random_texts(seed, count):
    source = random.Random(seed)
    words = " ".join(SENTENCES).split(" ")
    texts = []
    for _ in range(count):
        parts = []
        for _ in range(source.randint(1, 12)):
            if source.random() < 0.4:
                parts.append(" " * source.choice([0, 1, 1, 1, 2]) + source.choice(words))
            else:
                alphabet = source.choice(ALPHABETS)
                parts.append("".join(source.choice(alphabet) for _ in range(source.randint(1, 8))))
        texts.append("".join(parts))
    return texts
