"""Strings, and the operators of ai.onnx.ml: what tabular models are made of."""
import numpy as np
from onnx import TensorProto, helper

from builder import FLOAT, INT64, N, STRING, Skip
from registry import ML, operator

WORDS = ("red", "green", "blue", "Grey", "a b", "", "x1")


def words_input(b, rank=None):
    known = [v for v in b.pool if v.dtype == STRING and v.batch == 0 and (rank is None or v.rank == rank)]
    if known and b.chance(0.6):
        return b.choose(known)
    return b.input(STRING, b.row_shape(rank or b.random.randint(1, 2)), words=WORDS)


def text_constant(b, words):
    return b.constant(np.array(words, object))


@operator("StringNormalizer", mixing=True)
def string_normalizer(b, op):
    x = b.input(STRING, (N,), words=WORDS[:4])
    b.add(op, [x], STRING, [None], case_change_action=b.choose(("LOWER", "UPPER")), stopwords=["red"], is_case_sensitive=1, locale="C")


@operator("StringConcat")
def string_concat(b, op):
    x = words_input(b)
    b.add(op, [x, text_constant(b, ["-tail"])], STRING, x.shape)


@operator("RegexFullMatch")
def regex(b, op):
    x = words_input(b)
    b.add(op, [x], TensorProto.BOOL, x.shape, pattern="[a-z]+")


@operator("StringSplit")
def string_split(b, op):
    x = words_input(b, 1)
    parts, counts = b.node(op, [x], 2, delimiter=" ")
    b.keep(counts, INT64, x.shape)
    if not b.is_safe:
        # As wide as the row with the most parts.
        b.keep(parts, STRING, [N, None])


@operator("TfIdfVectorizer")
def tf_idf(b, op):
    rank = 2 if b.is_safe else b.random.randint(1, 2)
    x = b.input(INT64, b.row_shape(rank), low=0, high=5)
    shape = [N, 3] if rank == 2 else [3]
    b.add(op, [x], FLOAT, shape, mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],
          ngram_indexes=[0, 1, 2], pool_int64s=[1, 2, 3])


@operator("LabelEncoder", domain=ML)
def label_encoder(b, op):
    x = words_input(b)
    b.add(op, [x], INT64, x.shape, domain=ML, keys_strings=list(WORDS[:4]), values_int64s=[3, 1, 2, 7], default_int64=-1)


@operator("CategoryMapper", domain=ML)
def category_mapper(b, op):
    x = words_input(b)
    b.add(op, [x], INT64, x.shape, domain=ML, cats_strings=list(WORDS[:3]), cats_int64s=[4, 5, 6], default_int64=-1)


@operator("OneHotEncoder", domain=ML)
def one_hot_encoder(b, op):
    x = b.input(INT64, b.row_shape(b.random.randint(1, 2)), low=0, high=3)
    b.add(op, [x], FLOAT, [*x.shape, 3], domain=ML, cats_int64s=[0, 1, 2], zeros=1)


def table(b):
    """[N, C], as tables of features are."""
    return must_be_rows(b, b.take(FLOAT, 2))


def must_be_rows(b, x):
    if x.batch != 0 or not isinstance(x.shape[1], int) or x.shape[1] == 0:
        raise Skip
    return x


@operator("Scaler", domain=ML)
def scaler(b, op):
    x = table(b)
    c = x.shape[1]
    b.add(op, [x], FLOAT, x.shape, domain=ML, offset=b.weights_array([c]).tolist(), scale=b.weights_array([c]).tolist())


@operator("Normalizer", domain=ML)
def normalizer(b, op):
    x = table(b)
    x = b.add("Add", [x, b.constant(np.float32(3))], FLOAT, x.shape)
    b.add(op, [x], FLOAT, x.shape, domain=ML, norm=b.choose(("L1", "L2", "MAX")))


@operator("Binarizer", domain=ML)
def binarizer(b, op):
    x = table(b)
    b.add(op, [x], FLOAT, x.shape, domain=ML, threshold=0.1)


@operator("Imputer", domain=ML)
def imputer(b, op):
    x = table(b)
    b.add(op, [x], FLOAT, x.shape, domain=ML, imputed_value_floats=[0.5], replaced_value_float=0.0)


@operator("ArrayFeatureExtractor", domain=ML)
def array_feature(b, op):
    x = table(b)
    picked = b.numbers.integers(0, x.shape[1], [b.size(1, 3)]).tolist()
    b.add(op, [x, b.ints(picked)], FLOAT, [N, len(picked)], domain=ML)


@operator("FeatureVectorizer", domain=ML)
def feature_vectorizer(b, op):
    x, y = table(b), table(b)
    b.add(op, [x, y], FLOAT, [N, x.shape[1] + y.shape[1]], domain=ML, inputdimensions=[x.shape[1], y.shape[1]])


@operator("LinearRegressor", domain=ML)
def linear_regressor(b, op):
    x = table(b)
    targets = b.size(1, 2)
    b.add(op, [x], FLOAT, [N, targets], domain=ML, targets=targets, coefficients=b.weights_array([targets * x.shape[1]]).tolist(),
          intercepts=b.weights_array([targets]).tolist())


def classes(b, op, inputs, count, **attributes):
    label, scores = b.node(op, inputs, 2, ML, **attributes)
    b.keep(label, INT64, [N])
    b.keep(scores, FLOAT, [N, count])


@operator("LinearClassifier", domain=ML)
def linear_classifier(b, op):
    x = table(b)
    classes(b, op, [x], 3, classlabels_ints=[0, 1, 2], coefficients=b.weights_array([3 * x.shape[1]]).tolist(),
            intercepts=b.weights_array([3]).tolist(), multi_class=0, post_transform=b.choose(("NONE", "SOFTMAX", "LOGISTIC")))


@operator("SVMRegressor", domain=ML)
def svm_regressor(b, op):
    x = table(b)
    b.add(op, [x], FLOAT, [N, 1], domain=ML, kernel_type="RBF", kernel_params=[0.3, 0.0, 3.0], n_supports=2,
          coefficients=[0.5, -0.7], support_vectors=b.weights_array([2 * x.shape[1]]).tolist(), rho=[0.1])


@operator("SVMClassifier", domain=ML)
def svm_classifier(b, op):
    x = table(b)
    classes(b, op, [x], 2, kernel_type="LINEAR", kernel_params=[0.3, 0.0, 3.0], classlabels_ints=[0, 1], vectors_per_class=[1, 1],
            coefficients=[0.5, -0.7], support_vectors=b.weights_array([2 * x.shape[1]]).tolist(), rho=[0.1], post_transform="NONE")


def tree(b, columns, prefix, targets):
    """Two trees of one split each."""
    split = {
        "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2],
        "nodes_featureids": [b.random.randrange(columns), 0, 0, b.random.randrange(columns), 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2, "nodes_values": [0.1, 0.0, 0.0, -0.3, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
    }
    split.update({
        f"{prefix}_treeids": [0, 0, 1, 1], f"{prefix}_nodeids": [1, 2, 1, 2],
        f"{prefix}_ids": [0, targets - 1, 0, targets - 1], f"{prefix}_weights": b.weights_array([4]).tolist(),
    })
    return split


@operator("TreeEnsembleRegressor", domain=ML)
def tree_regressor(b, op):
    x = table(b)
    b.add(op, [x], FLOAT, [N, 1], domain=ML, n_targets=1, **tree(b, x.shape[1], "target", 1))


@operator("TreeEnsembleClassifier", domain=ML)
def tree_classifier(b, op):
    x = table(b)
    classes(b, op, [x], 3, classlabels_int64s=[0, 1, 2], post_transform=b.choose(("NONE", "SOFTMAX")), **tree(b, x.shape[1], "class", 3))


@operator("TreeEnsemble", domain=ML, since=20)
def tree_ensemble(b, op):
    x = table(b)
    columns = b.random.randrange(x.shape[1])
    numbers = {name: helper.make_tensor(name, FLOAT, [len(values)], values)
               for name, values in (("nodes_splits", [0.1]), ("leaf_weights", b.weights_array([2]).tolist()))}
    modes = helper.make_tensor("nodes_modes", TensorProto.UINT8, [1], [0])
    b.add(op, [x], FLOAT, [N, 1], domain=ML, n_targets=1, aggregate_function=1, post_transform=0, tree_roots=[0], nodes_modes=modes,
          nodes_featureids=[columns], nodes_truenodeids=[0], nodes_falsenodeids=[1], nodes_trueleafs=[1], nodes_falseleafs=[1],
          leaf_targetids=[0, 0], **numbers)


@operator("Scaler", "Normalizer", "Binarizer", "Imputer", "LinearRegressor", "ArrayFeatureExtractor", "SVMRegressor",
          domain=ML, mixing=True)
def one_sample(b, op):
    """One axis is one sample, not one row each."""
    x = b.input(FLOAT, (N,))
    if op == "ArrayFeatureExtractor":
        b.add(op, [x, b.ints([0])], FLOAT, [1, 1], domain=ML)
        return
    attributes = {
        "Scaler": {"offset": [0.5], "scale": [2.0]}, "Normalizer": {"norm": "L2"}, "Binarizer": {"threshold": 0.1},
        "Imputer": {"imputed_value_floats": [0.5], "replaced_value_float": 0.0},
        "LinearRegressor": {"coefficients": [0.5], "intercepts": [0.1], "targets": 1},
        "SVMRegressor": {"kernel_type": "LINEAR", "kernel_params": [0.3, 0.0, 3.0], "n_supports": 1, "coefficients": [0.5],
                         "support_vectors": [0.7], "rho": [0.1]},
    }[op]
    keeps = op in ("Scaler", "Binarizer", "Imputer")
    b.add(op, [x], FLOAT, [N] if keeps else [None, None], domain=ML, **attributes)
