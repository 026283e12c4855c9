"""Sixty sentences written by hand, without the grammar: how far does the model carry beyond its own kind of text?"""

NEGATIVE = """The soup was cold and nobody apologised.
I would not recommend this to anyone.
Not worth the money.
It broke after two days and the seller never answered.
The worst evening I have had in a long time.
We waited an hour for a table that was never free.
I tried to like it, I really did, but it is just boring.
Great idea, terrible execution.
My phone died on the first morning, so thanks for nothing.
The acting is awful and the plot makes no sense.
A complete waste of time.
The staff were rude to my mother.
It sounds good on paper, but in practice it is useless.
Never again.
I expected more from such an expensive hotel.
The second half is a mess.
Don't buy this.
What a disappointment.
The room smelled of smoke and the bed was dirty.
It is not a good book, no matter what the critics say.""".splitlines()
NEUTRAL = """The parcel came on Monday.
I have not decided yet what I think of it.
It is an average film, neither good nor bad.
Does the price include breakfast?
We were there with two children.
The museum is closed on Mondays.
Some scenes were great, others were terrible.
It is okay.
I ordered the blue one.
The concert started at eight.
Nothing special, but nothing to complain about either.
Has anybody tried the new version?
The book has three hundred pages.
I am still reading it.
It does what it should.
The hotel is near the station.
A typical phone for that price.
My brother has the same model.
The menu has changed since last year.
It comes with a charger.""".splitlines()
POSITIVE = """We had a wonderful evening and will come back.
I could not put it down.
Best coffee in town.
The staff went out of their way to help us.
I was sceptical, but this is really good.
Not bad at all!
The camera is simply amazing.
It is small and a bit noisy, yet I love it.
My kids were thrilled.
Worth every cent.
I have never laughed so much at the cinema.
A beautiful little place with friendly people.
It works perfectly and was easy to set up.
Nobody should miss this show.
I can't say anything bad about it.
The ending surprised me, and I enjoyed every minute.
Finally a phone with a great battery.
She is an excellent teacher.
I wasn't disappointed.
Everything was clean, quiet and comfortable.""".splitlines()


def sentences() -> tuple:
    texts = [*NEGATIVE, *NEUTRAL, *POSITIVE]
    return texts, [0] * len(NEGATIVE) + [1] * len(NEUTRAL) + [2] * len(POSITIVE)
