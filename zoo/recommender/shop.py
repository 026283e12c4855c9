"""A simulated shop: items with attributes, shoppers whose tastes drift, and what they look at next."""

import numpy as np

# Category -> what one tends to look at after buying in it.
CATEGORIES = {
    "desk lamp": "desk",
    "desk": "office chair",
    "office chair": "cushion",
    "cushion": "blanket",
    "blanket": "candle",
    "candle": "candle holder",
    "candle holder": "vase",
    "vase": "plant pot",
    "plant pot": "watering can",
    "watering can": "garden chair",
    "garden chair": "parasol",
    "parasol": "picnic basket",
    "picnic basket": "thermos",
    "thermos": "backpack",
    "backpack": "tent",
    "tent": "sleeping bag",
    "sleeping bag": "camp stove",
    "camp stove": "cooking pot",
    "cooking pot": "kitchen knife",
    "kitchen knife": "chopping board",
    "chopping board": "apron",
    "apron": "teapot",
    "teapot": "tea cup",
    "tea cup": "desk lamp",
}
STYLES = ("plain", "rustic", "nordic", "vintage", "bright", "dark", "striped", "handmade")
BRANDS = ("Halm", "Orlo", "Viken", "Tarn", "Bramble", "Moss & Co", "Kestrel", "Lumen", "Pike", "Sorrel", "Wold", "Fjell")
PRICES = ("basic", "classic", "luxury")
PER_CATEGORY = 20
ITEMS = len(CATEGORIES) * PER_CATEGORY  # ids 1 to ITEMS; 0 is padding
HISTORY = 32
VIEW, CART, BUY = 1, 2, 3


class Shop:
    """The shelves are the same in every simulation; only the shoppers differ."""

    def __init__(self):
        generator = np.random.default_rng(20)
        names = list(CATEGORIES)
        self.category = np.repeat(np.arange(len(names)), PER_CATEGORY)
        self.style = generator.integers(0, len(STYLES), ITEMS)
        self.brand = generator.integers(0, len(BRANDS), ITEMS)
        self.price = generator.integers(0, len(PRICES), ITEMS)
        rank = np.concatenate([generator.permutation(PER_CATEGORY) for _ in names])
        self.fame = -0.5 * np.log1p(rank)
        self.category_fame = generator.dirichlet(np.full(len(names), 1.5))
        self.follows = np.array([names.index(CATEGORIES[name]) for name in names])
        self.names = [
            f"{PRICES[p]} {STYLES[s]} {names[c]} by {BRANDS[b]}" for c, s, b, p in zip(self.category, self.style, self.brand, self.price)
        ]


def simulate(shoppers: int, seed: int, steps: int = 40) -> tuple:
    """Item ids [shoppers, steps] and event kinds of the same shape."""
    shop = Shop()
    generator = np.random.default_rng(seed)
    categories = len(CATEGORIES)
    everyone = np.arange(shoppers)
    taste = generator.dirichlet(shop.category_fame * 12, shoppers)
    style = generator.integers(0, len(STYLES), shoppers)
    price = generator.integers(0, len(PRICES), shoppers)
    brand = generator.integers(0, len(BRANDS), shoppers)
    current = (taste.cumsum(1) > generator.random((shoppers, 1))).argmax(1)
    items = np.zeros((shoppers, steps), dtype=np.int64)
    kinds = np.zeros((shoppers, steps), dtype=np.int64)
    seen = np.zeros((shoppers, ITEMS), dtype=np.float32)
    for step in range(steps):
        drift = generator.random(shoppers) < 0.04
        style = np.where(drift, generator.integers(0, len(STYLES), shoppers), style)
        drift = generator.random(shoppers) < 0.02
        price = np.where(drift, generator.integers(0, len(PRICES), shoppers), price)
        drift = generator.random(shoppers) < 0.03
        if drift.any():
            taste[drift] = generator.dirichlet(shop.category_fame * 12, int(drift.sum()))
        # Only the twenty items on the current shelf are weighed.
        shelf = current[:, None] * PER_CATEGORY + np.arange(PER_CATEGORY)
        appeal = (
            1.7 * (shop.style[shelf] == style[:, None])
            + 1.2 * (shop.price[shelf] == price[:, None])
            + 1.5 * (shop.brand[shelf] == brand[:, None])
            + shop.fame[shelf]
            - 3.0 * np.take_along_axis(seen, shelf, 1)
            + generator.gumbel(0, 0.7, shelf.shape)
        )
        chosen = shelf[everyone, appeal.argmax(1)]
        fits = (shop.style[chosen] == style).astype(float) + (shop.price[chosen] == price) + (shop.brand[chosen] == brand)
        luck = generator.random(shoppers)
        kind = np.where(luck < 0.06 + 0.07 * fits, BUY, np.where(luck < 0.2 + 0.1 * fits, CART, VIEW))
        items[:, step], kinds[:, step] = chosen + 1, kind
        seen *= 0.85
        seen[everyone, chosen] = 1
        bought = kind == BUY
        brand = np.where(bought & (generator.random(shoppers) < 0.5), shop.brand[chosen], brand)
        wander = (taste.cumsum(1) > generator.random((shoppers, 1))).argmax(1)
        leaves = generator.random(shoppers)
        after_buying = np.where(leaves < 0.75, shop.follows[current], wander)
        otherwise = np.where(leaves < 0.2, wander, current)
        current = np.where(bought, after_buying, otherwise) % categories
    return items, kinds


def histories(items: np.ndarray, kinds: np.ndarray, length: int) -> tuple:
    """The `length` events before the last one, left-padded to HISTORY, and the last item."""
    shoppers = len(items)
    padded = np.zeros((shoppers, HISTORY), dtype=np.int64), np.zeros((shoppers, HISTORY), dtype=np.int64)
    for target, source in zip(padded, (items, kinds)):
        target[:, HISTORY - length :] = source[:, -1 - length : -1]
    return (*padded, items[:, -1])
