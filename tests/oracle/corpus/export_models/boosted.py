"""Gradient boosted trees of LightGBM and XGBoost, exported by onnxmltools."""

import warnings

import lightgbm
import numpy as np
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

from export_models.export import Export, normal

_generator = np.random.default_rng(3)
X = _generator.standard_normal((120, 5)).astype(np.float32)
BINARY = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
CLASSES = BINARY + (X[:, 2] > 0.5)
TARGET = (X @ np.arange(1, 6)).astype(np.float32)
TYPES = [("input", FloatTensorType([None, 5]))]
SMALL = {"n_estimators": 5, "max_depth": 3}


def numbers(generator, rows):
    return {"input": normal(generator, rows, 5)}


def exports():
    warnings.filterwarnings("ignore")
    quiet = {"verbose": -1, "min_child_samples": 5, "n_jobs": 1}
    for name, truth in (("binary", BINARY), ("classes", CLASSES)):
        fitted = lightgbm.LGBMClassifier(**SMALL, **quiet).fit(X, truth)
        yield Export(f"lightgbm_{name}", "LightGBM", convert_lightgbm(fitted, initial_types=TYPES, zipmap=False), numbers, True)
        yield Export(f"lightgbm_{name}_zipmap", "LightGBM, ZipMap", convert_lightgbm(fitted, initial_types=TYPES), numbers, True)
        fitted = xgboost.XGBClassifier(**SMALL, n_jobs=1).fit(X, truth)
        yield Export(f"xgboost_{name}", "XGBoost", convert_xgboost(fitted, initial_types=TYPES), numbers, True)
    booster = lightgbm.train({"objective": "binary", "num_leaves": 4, "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, BINARY), 4)
    yield Export("lightgbm_booster", "LightGBM", convert_lightgbm(booster, initial_types=TYPES, zipmap=False), numbers, True)
    fitted = lightgbm.LGBMRegressor(**SMALL, **quiet).fit(X, TARGET)
    yield Export("lightgbm_regressor", "LightGBM", convert_lightgbm(fitted, initial_types=TYPES), numbers, True)
    fitted = xgboost.XGBRegressor(**SMALL, n_jobs=1).fit(X, TARGET)
    yield Export("xgboost_regressor", "XGBoost", convert_xgboost(fitted, initial_types=TYPES), numbers, True)
