"""The forms that are compared, by name."""

from decoder_graphs import Form

GROUPED = {"heads": 4, "cache_heads": 2}
ONE_HEAD = {"heads": 4, "cache_heads": 1}
SINGLE = {"cache_heads": 4}

REPEATS = [
    "expand",
    "expand-checked",
    "expand-interleaved",
    "expand-negative",
    "expand-last",
    "expand-mixed",
    "expand-tokens-first",
    "expand-rows",
    "tile",
    "tile-unsqueezed",
    "gather",
    "concat",
    "concat-unsqueezed",
    "five-axes",
    "rows",
]
# Copies of heads lie between tokens: a token sees later ones.
NOT_CAUSAL_REPEATS = ["expand-mixed"]
SCALES = [
    *["q", "q-div", "q:sqrt", "q:pow", "scores-div", "scores-mul", "scores-div:sqrt", "k-new", "none"],
    *[f"{kind}-{at}{more}" for kind in ("k", "both") for at in ("joined", "repeated", "turned") for more in ("", ":sqrt", ":ones")],
    *[f"k-{at}-div" for at in ("joined", "repeated", "turned")],
    *["both-joined-of-shape", "both-turned-of-shape"],
    *[f"{kind}-{at}" for kind in ("vector", "tokens", "inverse", "square") for at in ("joined", "repeated", "turned")],
    *["heads-joined", "heads-repeated"],
]

FORMS = {}


def add(name, **fields):
    assert name not in FORMS, name
    FORMS[name] = Form(**fields)


for repeat in REPEATS:
    for sizes in ("shape", "ones", "rest"):
        if repeat in ("five-axes", "rows", "tile", "gather", "concat", "expand-tokens-first", "expand-rows") and sizes != "shape":
            continue
        if sizes == "rest" and repeat == "concat-unsqueezed":
            continue
        add(f"repeat {repeat} {sizes}", repeat=repeat, repeat_sizes=sizes, **GROUPED)
    add(f"repeat {repeat} of 3 for each", repeat=repeat, heads=6, cache_heads=2, scale="k-turned")
    add(f"repeat {repeat} of one head", repeat=repeat, scale="q", **ONE_HEAD)
    if repeat not in ("five-axes", "rows", "expand-tokens-first", "expand-rows"):
        add(f"repeat {repeat} turned before", repeat=repeat, turned="before", **GROUPED)
    if repeat not in ("five-axes", "rows"):
        add(f"repeat {repeat} product turned", repeat=repeat, turned="product", **GROUPED)
add("repeat broadcast", repeat="broadcast", **ONE_HEAD)
add("repeat expand-one-head", repeat="expand-one-head", **ONE_HEAD)
add("turned twice", turned="twice")
add("turned twice of repeated", turned="twice", repeat="expand", **GROUPED)
add("product turned", turned="product")
for scale in SCALES:
    add(f"scale {scale}", scale=scale, value_scale=scale.startswith("k"))
    if "heads" not in scale:
        add(f"scale {scale} of repeated", scale=scale, repeat="expand", value_scale=scale.startswith("q"), **GROUPED)
for mask in ("additive", "additive-product", "additive-expanded", "where", "where-infinite"):
    for causal in ("slots", "trilu", "less", "positions"):
        add(f"mask {mask} {causal}", mask=mask, causal=causal, repeat="expand", **GROUPED)
for positions in ("rotary", "learned"):
    add(f"mask stored, {positions}", causal="stored", positions=positions)
for chunk in (16, 100, 150):
    add(f"chunks of {chunk}", causal="chunks", window=chunk)
add("one row", rows=1)
add("one row, repeated", rows=1, repeat="expand", **GROUPED)
add("one token", tokens=1)
add("one row and token", rows=1, tokens=1, present="copied")
add("no mask", sees_mask=False)
add("no mask, positions by the cache", sees_mask=False, positions_from="cache")
add("no mask, no positions", sees_mask=False, positions="none")
add("no mask, learned", sees_mask=False, positions="learned")
for window in (8, 40, 100, 150, 200):
    for by in ("slots", "positions"):
        add(f"window of {window} by {by}", window=window, causal=by)
add("window of 150 by slots, no cache", window=150, cache=False)
for alibi in ("slots", "mask"):
    add(f"biases by {alibi}", alibi=alibi, positions="none")
    add(f"weak biases by {alibi}", alibi=alibi, positions="none", softcap=True)
    add(f"biases by {alibi} of 8 heads", alibi=alibi, positions="none", heads=8, cache_heads=8, head_size=4)
for positions in ("rotary", "learned"):
    for source in ("input", "mask", "cache"):
        add(f"{positions} by {source}", positions=positions, positions_from=source)
        add(f"{positions} by {source}, no cache", positions=positions, positions_from=source, cache=False)
add("rotated when joined", rotated="joined", positions_from="cache")
add("no positions", positions="none")
add("sink", sink=True)
add("sink of repeated", sink=True, repeat="expand", **GROUPED)
add("softcap", softcap=True, repeat="expand", scale="k-repeated", **GROUPED)
for read in ("shape", "shape-of-tokens", "maximum", "output", "two-products", "one-turn-two-products"):
    add(f"also read by {read}", also_read=read)
    if read != "maximum":
        add(f"also read by {read}, repeated", also_read=read, repeat="expand", **GROUPED)
add("shared layers", shared_layers=True)
add("shared layers, repeated", shared_layers=True, repeat="expand", **GROUPED)
add("values are keys", shared_parts=True, positions="learned")
add("values are keys, repeated", shared_parts=True, repeat="expand", positions="none", **GROUPED)
for past, present in [
    ("past_key_values.{layer}.decoder.{part}", "present.{layer}.decoder.{part}"),
    ("past_key_values.{layer}.{part}", "present_key_values.{layer}.{part}"),
    ("past.{layer}.{part}", "present.{layer}.{part}"),
    ("past_{layer}_{letter}", "present_{layer}_{letter}"),
    ("past_key_{layer}_{letter}", "present_{layer}_{letter}"),
]:
    add(f"names {past}", past_names=past, present_names=present)
for layout in ("rows tokens heads size", "heads rows tokens size", "rows heads size tokens", "tokens rows heads size"):
    for named in (False, True):
        sized = "named" if named else "fixed"
        add(f"layout {layout}, {sized} sizes", layout=layout, named_sizes=named)
        add(f"layout {layout}, {sized} sizes, one head", layout=layout, named_sizes=named, repeat="broadcast", **ONE_HEAD)
add("layout heads rows tokens size, one head of one", layout="heads rows tokens size", heads=1, cache_heads=1)
add("sizes named", named_sizes=True)
add("sizes named, repeated", named_sizes=True, repeat="expand", **GROUPED)
for present in ("new-first", "copied", "three-parts"):
    add(f"present {present}", present=present)
for window in (16, 100, 200):
    add(f"present last-window of {window}", present="last-window", window=window)
add("axes from the end", join_axis="negative", repeat="expand", **GROUPED)
for logits in ("last", "keep"):
    add(f"logits {logits}", logits=logits)
    add(f"logits {logits}, no cache", logits=logits, cache=False)
add("no cache", cache=False)
add("no cache, repeated", cache=False, repeat="expand", **GROUPED)
for opset in range(13, 22):
    for type in ("FP32", "FP16"):
        fields = {"repeat": "expand", "causal": "trilu" if opset >= 14 else "less", **GROUPED}
        add(f"opset {opset} {type}", opset=opset, type=type, scale="both-repeated", **fields)
for name, fields in {
    "": {},
    ", no mask": {"sees_mask": False},
    ", no cache": {"cache": False},
    ", repeated": {"repeat": "expand", **GROUPED},
    ", positions by the cache": {"positions_from": "cache"},
}.items():
    add(f"quantized{name}", quantized=True, **fields)
for repeat in ("none", "tile"):
    add(f"FP16 {repeat}", type="FP16", repeat=repeat, **(SINGLE if repeat == "none" else GROUPED))
for sees in (True, False):
    for rotary in ("rotary", "none"):
        add(
            f"GroupQueryAttention {rotary} {'by the mask' if sees else 'by lengths'}",
            operator="GroupQueryAttention", sees_mask=sees, positions=rotary, positions_from="cache" if not sees else "input", head_size=16, **GROUPED,
        )
add("GroupQueryAttention with a window", operator="GroupQueryAttention", positions="none", window=20, **GROUPED)
add("GroupQueryAttention with a window of 150", operator="GroupQueryAttention", positions="none", window=150, **GROUPED)
add("GroupQueryAttention with a softcap", operator="GroupQueryAttention", positions="none", softcap=True, **GROUPED)
for operator in ("MultiHeadAttention", "MultiHeadAttentionOfHeads"):
    add(operator, operator=operator, positions="learned")
    add(f"{operator} by the mask", operator=operator, positions="learned", positions_from="mask")
add("Attention", operator="Attention", opset=23, ir=11, positions="learned")
add("Attention, grouped", operator="Attention", opset=23, ir=11, positions="learned", **GROUPED)

# A token sees later ones, or how many are read at once: right for prompts of one piece, and told in the log.
NOT_CAUSAL = {
    *(name for name in FORMS if name.startswith(("repeat expand-mixed", "scale tokens", "also read by shape-of-tokens"))),
    "also read by maximum",
    *(name for name in FORMS if name.startswith("quantized")),
}

# What is not served as a generator, and why.
OTHER_NAME = "it is not a decoder: input .* its name is not of the form past_key_values.0.key"
FAILED_TRIAL = "a trial run with tokens from 0 to 39 failed, so the graph does not fit the files beside it"
REFUSED = {
    **{name: OTHER_NAME for name in FORMS if name.startswith(("names past.", "names past_{", "names past_key_{"))},
    **{name: "has the fixed (cache length|batch size)" for name in FORMS if name.startswith("layout") and "fixed sizes" in name},
    **{name: FAILED_TRIAL for name in FORMS if name.startswith("layout") and "named sizes" in name},
    **{name: f"{FAILED_TRIAL}.*tokens after a run with a cache" for name in FORMS if name.startswith("present last-window")},
    "present new-first": f"{FAILED_TRIAL}.*does not begin with the cache",
}
# With one head, their layouts are alike where a run has one row.
for name in ("layout heads rows tokens size, fixed sizes, one head", "layout heads rows tokens size, one head of one"):
    REFUSED.pop(name, None)


def random_form(source):
    """Any of the above together; what is not causal, or loses what it was given, is left out."""
    pick = lambda *values: values[source.integers(len(values))]
    cache_heads = pick(1, 2, 4)
    times = pick(1, 2, 3) if cache_heads < 4 else pick(1, 2)
    repeats = ["none"] if times == 1 else [repeat for repeat in REPEATS if repeat not in NOT_CAUSAL_REPEATS]
    if cache_heads == 1 and times > 1:
        repeats += ["broadcast", "expand-one-head"]
    repeat = pick(*repeats)
    sizes = pick("shape", "ones", "rest") if repeat.startswith("expand") and repeat not in ("expand-tokens-first", "expand-rows") else "shape"
    is_grouped_product = repeat in ("five-axes", "rows")
    turned = "after" if is_grouped_product else pick("after", "after", "before", "product", "twice")
    if turned == "before" and repeat in ("expand-tokens-first", "expand-rows", "rows"):
        turned = "after"
    scale = pick(*(scale for scale in SCALES if not scale.startswith(("tokens", "inverse", "square"))))
    alibi = pick("none", "none", "none", "slots", "mask")
    positions = "none" if alibi != "none" else pick("rotary", "rotary", "learned", "none")
    sees_mask = source.random() < 0.9
    opset = int(source.integers(13, 22))
    causal = pick("slots", "less", *(["positions"] if sees_mask else []), *(["trilu"] if opset >= 14 else []))
    return Form(
        heads=cache_heads * times,
        cache_heads=cache_heads,
        head_size=pick(4, 8),
        layers=pick(1, 2, 3),
        repeat=repeat,
        repeat_sizes=sizes,
        turned=turned,
        scale=scale,
        value_scale=source.random() < 0.3,
        softcap=source.random() < 0.2,
        mask=pick("additive", "additive-product", "additive-expanded", "where", "where-infinite"),
        causal=causal,
        sees_mask=sees_mask,
        window=pick(0, 0, 0, 0, 20, 150),
        alibi=alibi if sees_mask or alibi != "mask" else "slots",
        positions=positions,
        positions_from=pick("input", "mask", "cache") if sees_mask else pick("input", "cache"),
        rotated=pick("new", "new", "new", "joined"),
        sink=source.random() < 0.15,
        also_read=pick("none", "none", "none", "shape", "output", "two-products", "one-turn-two-products")
        if turned == "after" and not is_grouped_product
        else pick("none", "shape", "output"),
        shared_layers=source.random() < 0.1,
        shared_parts=source.random() < 0.1,
        named_sizes=source.random() < 0.2,
        present=pick("joined", "joined", "joined", "joined", "copied", "three-parts"),
        join_axis=pick("positive", "negative"),
        logits=pick("all", "last", "keep"),
        type="FP16" if source.random() < 0.15 else "FP32",
        opset=opset,
        cache=source.random() < 0.95,
    )
