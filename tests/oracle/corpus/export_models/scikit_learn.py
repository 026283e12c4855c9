"""Estimators of scikit-learn, exported by skl2onnx."""

import warnings

import numpy as np
from onnx import helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (  # fmt: skip
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from export_models.export import Export, normal

OPSET = {"": 17, "ai.onnx.ml": 3}
_generator = np.random.default_rng(2)
X = _generator.standard_normal((80, 5)).astype(np.float32)
LABELS = (X[:, 0] + X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1).astype(np.int64)
TARGET = (X @ np.arange(1, 6) + X[:, 0] ** 2).astype(np.float32)
FIXED = {"random_state": 0}

CLASSIFIERS = {
    "random_forest": RandomForestClassifier(6, max_depth=4, **FIXED),
    "extra_trees": ExtraTreesClassifier(4, max_depth=4, **FIXED),
    "gradient_boosting": GradientBoostingClassifier(n_estimators=5, **FIXED),
    "hist_gradient_boosting": HistGradientBoostingClassifier(max_iter=5, **FIXED),
    "ada_boost": AdaBoostClassifier(n_estimators=4, **FIXED),
    "decision_tree": DecisionTreeClassifier(max_depth=4, **FIXED),
    "logistic_regression": LogisticRegression(),
    "svc": SVC(probability=True, **FIXED),
    "k_neighbours": KNeighborsClassifier(3),
    "naive_bayes": GaussianNB(),
    "mlp": MLPClassifier((6,), max_iter=30, **FIXED),
    "one_vs_rest": OneVsRestClassifier(LogisticRegression()),
    "voting": VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft", flatten_transform=False),
    "stacking": StackingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], cv=2),
    "scaled_pipeline": make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()),
}
REGRESSORS = {
    "random_forest_regressor": RandomForestRegressor(6, max_depth=4, **FIXED),
    "gradient_boosting_regressor": GradientBoostingRegressor(n_estimators=5, **FIXED),
    "linear_regression": LinearRegression(),
    "svr": SVR(),
    "k_neighbours_regressor": KNeighborsRegressor(3),
    "gaussian_process": GaussianProcessRegressor(**FIXED),
}
OTHERS = {
    "k_means": KMeans(3, n_init=2, **FIXED),
    "pca": PCA(2, **FIXED),
    "isolation_forest": IsolationForest(n_estimators=5, **FIXED),
    "gaussian_mixture": GaussianMixture(2, **FIXED),
    "min_max_scaler": MinMaxScaler(),
    "normalizer": Normalizer(),
}


def numbers(generator, rows):
    return {"X": normal(generator, rows, 5)}


def exported(estimator, options=None):
    return to_onnx(estimator, X[:1], target_opset=OPSET, options={id(estimator): options} if options else None)


def classifiers():
    for name, estimator in CLASSIFIERS.items():
        fitted = estimator.fit(X, LABELS)
        yield Export(f"sklearn_{name}", "scikit-learn", exported(fitted, {"zipmap": False}), numbers, True)
    for name in ("random_forest", "logistic_regression", "svc"):
        yield Export(f"sklearn_{name}_zipmap", "scikit-learn, ZipMap", exported(CLASSIFIERS[name]), numbers, True)
    words = RandomForestClassifier(4, max_depth=3, **FIXED).fit(X, np.array(["low", "middle", "high"])[LABELS])
    yield Export("sklearn_string_labels", "scikit-learn", exported(words, {"zipmap": False}), numbers, True)
    yield Export("sklearn_string_labels_zipmap", "scikit-learn, ZipMap", exported(words), numbers, True)


def in_plain_locale(model):
    """Without a locale onnxruntime asks the system for en_US.UTF-8, which not every machine has."""
    for node in model.graph.node:
        if node.op_type == "StringNormalizer":
            kept = [attribute for attribute in node.attribute if attribute.name != "locale"]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute("locale", "C")])
    return model


def text_models():
    lines = np.array(["good film", "bad film", "a good day", "so bad", "fine", "not good not bad"] * 5, object)
    truth = np.array([1, 0, 1, 0, 1, 0] * 5)
    line = lambda generator, rows: {"text": generator.choice(lines, size=(rows, 1))}  # noqa: E731
    for name, vectorizer in (("tfidf", TfidfVectorizer(ngram_range=(1, 2))), ("count", CountVectorizer())):
        pipeline = make_pipeline(vectorizer, LogisticRegression()).fit(lines, truth)
        for end, options in (("", {"zipmap": False}), ("_zipmap", None)):
            model = to_onnx(
                pipeline,
                initial_types=[("text", StringTensorType([None, 1]))],
                target_opset=OPSET,
                options={id(pipeline): options} if options else None,
            )
            yield Export(f"sklearn_text_{name}{end}", "scikit-learn, text", in_plain_locale(model), line, None)


def tabular():
    """Columns of different types, each an input of its own [rows, 1]."""
    colours, sizes = np.array(["red", "green", "blue"], object), np.array(["s", "m", "l"], object)
    generator = np.random.default_rng(7)
    count = 60
    colour, size = generator.choice(colours, count), generator.choice(sizes, count)
    age = generator.integers(18, 80, count)
    income = generator.normal(50, 10, count).astype(np.float32)
    table = np.empty((count, 4), object)
    table[:, 0], table[:, 1], table[:, 2], table[:, 3] = age, income, colour, size
    wanted = ((age > 40) & (colour != "red")).astype(int)
    columns = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
            ("c", OneHotEncoder(handle_unknown="ignore"), [2]),
            ("s", OrdinalEncoder(), [3]),
        ]
    )
    pipeline = make_pipeline(columns, RandomForestClassifier(4, max_depth=4, **FIXED)).fit(table, wanted)
    types = [
        ("age", FloatTensorType([None, 1])),
        ("income", FloatTensorType([None, 1])),
        ("colour", StringTensorType([None, 1])),
        ("size", StringTensorType([None, 1])),
    ]

    def feeds(made, rows):
        return {
            "age": made.integers(18, 80, (rows, 1)).astype(np.float32),
            "income": made.normal(50, 10, (rows, 1)).astype(np.float32),
            "colour": made.choice(np.append(colours, "violet"), (rows, 1)),
            "size": made.choice(sizes, (rows, 1)),
        }

    for end, options in (("", {"zipmap": False}), ("_zipmap", None)):
        model = to_onnx(pipeline, initial_types=types, target_opset=OPSET, options={id(pipeline): options} if options else None)
        yield Export(f"tabular_with_strings{end}", "tabular with strings", model, feeds, True)
    ids = to_onnx(
        DecisionTreeClassifier(max_depth=3, **FIXED).fit(age[:, None], wanted),
        initial_types=[("age", Int64TensorType([None, 1]))],
        target_opset=OPSET,
        options={"zipmap": False},
    )
    yield Export("tabular_integers", "tabular", ids, lambda made, rows: {"age": made.integers(18, 80, (rows, 1))}, True)


def exports():
    warnings.filterwarnings("ignore")
    yield from classifiers()
    for name, estimator in REGRESSORS.items():
        yield Export(f"sklearn_{name}", "scikit-learn", exported(estimator.fit(X, TARGET)), numbers, True)
    for name, estimator in OTHERS.items():
        yield Export(f"sklearn_{name}", "scikit-learn", exported(estimator.fit(X)), numbers, True)
    yield from text_models()
    yield from tabular()
