"""Trap 10: operators of ai.onnx.ml and of strings, for which a one-dimensional tensor is one sample."""

from trap_graphs.trap import Group

traps = Group(10, domains={"ai.onnx.ml": 3})
H, S = traps.harmful, traps.harmless
ML = "ai.onnx.ml."
STRINGS = "(string[N] x) => (string[N] y)"

H(
    "stringnormalizer-stopwords",
    "(string[N] x) => (string[A] y)",
    'y = StringNormalizer <locale = "C", case_change_action = "LOWER", stopwords = ["red", "c"]> (x)',
)
S("stringnormalizer-case-only", STRINGS, 'y = StringNormalizer <locale = "C", case_change_action = "UPPER"> (x)')
GRAMS = '<mode = "TF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 0, ngram_counts = [0, 4], ngram_indexes = [0, 1, 2, 3, 4, 5], pool_int64s = [0, 1, 2, 3, 1, 2, 0, 3]>'
H("tfidfvectorizer-of-a-vector", "(int64[N] x) => (float[6] y)", f"y = TfIdfVectorizer {GRAMS} (x)")
S("tfidfvectorizer-of-a-matrix", "(int64[N,5] x) => (float[N,6] y)", f"y = TfIdfVectorizer {GRAMS} (x)")
H("stringsplit-pads-to-the-longest", "(string[N] x) => (string[N,A] y, int64[N] n)", 'y, n = StringSplit <delimiter = " "> (x)', opset=20)
S("stringsplit-counts", "(string[N] x) => (int64[N] y)", 'w, y = StringSplit <delimiter = " "> (x)', opset=20)
S("stringconcat", STRINGS, "y = StringConcat (x, x)", opset=20)
S("regexfullmatch", "(string[N] x) => (bool[N] y)", 'y = RegexFullMatch <pattern = "[a-z]+"> (x)', opset=20)

TREE = (
    "<n_targets = 1, nodes_falsenodeids = [2, 0, 0], nodes_featureids = [0, 0, 0], nodes_hitrates = [1.0, 1.0, 1.0],"
    ' nodes_missing_value_tracks_true = [0, 0, 0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_nodeids = [0, 1, 2], nodes_treeids = [0, 0, 0],'
    ' nodes_truenodeids = [1, 0, 0], nodes_values = [0.1, 0.0, 0.0], post_transform = "NONE",'
    " target_ids = [0, 0], target_nodeids = [1, 2], target_treeids = [0, 0], target_weights = [1.5, -2.5]>"
)
H(
    "treeensembleregressor-of-a-vector",
    "(float[N] x) => (float[A,1] y)",
    f"y = {ML}TreeEnsembleRegressor {TREE} (x)",
    domains={"ai.onnx.ml": 1},
)
S("treeensembleregressor-of-a-matrix", "(float[N,2] x) => (float[N,1] y)", f"y = {ML}TreeEnsembleRegressor {TREE} (x)")
SVM = '<kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0], n_supports = 2, support_vectors = [0.1, 0.2, 0.3, 0.4], coefficients = [1.0, -0.5], rho = [0.1], post_transform = "NONE">'
H(
    "svmregressor-of-a-vector",
    "(float[N] x) => (float[A,1] y)",
    f"y = {ML}SVMRegressor {SVM.replace('[0.1, 0.2, 0.3, 0.4]', '[0.1, 0.2]')} (x)",
)
S("svmregressor-of-a-matrix", "(float[N,2] x) => (float[N,1] y)", f"y = {ML}SVMRegressor {SVM} (x)")
CLASSIFIER = '<kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0], support_vectors = [0.1, 0.9, -0.7, 0.4], coefficients = [1.0, -0.5], rho = [0.1], vectors_per_class = [1, 1], classlabels_ints = [0, 1], post_transform = "NONE">'
H(
    "svmclassifier-of-a-vector",
    "(float[N] x) => (int64[A] y, float[B,2] z)",
    f"y, z = {ML}SVMClassifier {CLASSIFIER.replace('[0.1, 0.9, -0.7, 0.4]', '[0.1, -0.7]')} (x)",
)
S("svmclassifier-of-a-matrix", "(float[N,2] x) => (int64[N] y, float[N,2] z)", f"y, z = {ML}SVMClassifier {CLASSIFIER} (x)")
LINEAR = '<coefficients = [1.0, -0.5, -1.0, 0.5], intercepts = [0.1, 0.2], classlabels_ints = [4, 7], post_transform = "SOFTMAX">'
H(
    "linearclassifier-of-a-vector",
    "(float[N] x) => (int64[A] y, float[B,2] z)",
    f"y, z = {ML}LinearClassifier {LINEAR.replace('[1.0, -0.5, -1.0, 0.5]', '[1.0, -1.0]')} (x)",
)
S("linearclassifier-of-a-matrix", "(float[N,2] x) => (int64[N] y, float[N,2] z)", f"y, z = {ML}LinearClassifier {LINEAR} (x)")
H(
    "linearregressor-of-a-vector",
    "(float[N] x) => (float[A,1] y)",
    f"y = {ML}LinearRegressor <coefficients = [1.0], intercepts = [0.5], targets = 1> (x)",
)
S(
    "linearregressor-of-a-matrix",
    "(float[N,2] x) => (float[N,1] y)",
    f"y = {ML}LinearRegressor <coefficients = [1.0, 2.0], intercepts = [0.5], targets = 1> (x)",
)
H(
    "arrayfeatureextractor-of-a-vector",
    "(float[N] x) => (float[1,A] y)",
    f"y = {ML}ArrayFeatureExtractor (x, i)",
    constants="int64[2] i = {0, 0}",
)
S(
    "arrayfeatureextractor-of-a-matrix",
    "(float[N,4] x) => (float[N,2] y)",
    f"y = {ML}ArrayFeatureExtractor (x, i)",
    constants="int64[2] i = {2, 0}",
)
H(
    "arrayfeatureextractor-by-rows",
    "(int64[N] i) => (float[1,N] y)",
    f"y = {ML}ArrayFeatureExtractor (k, i)",
    constants="float[4] k = {1.0, 2.0, 3.0, 4.0}",
)
H("normalizer-of-a-vector", "(float[N] x) => (float[N] y)", f'y = {ML}Normalizer <norm = "L2"> (x)')
S("normalizer-of-a-matrix", "(float[N,4] x) => (float[N,4] y)", f'y = {ML}Normalizer <norm = "L1"> (x)')
S("scaler", "(float[N,2] x) => (float[N,2] y)", f"y = {ML}Scaler <offset = [0.5, 1.0], scale = [2.0, 0.5]> (x)")
S("imputer", "(float[N,2] x) => (float[N,2] y)", f"y = {ML}Imputer <imputed_value_floats = [0.5, 1.0], replaced_value_float = 0.0> (x)")
S("binarizer", "(float[N,2] x) => (float[N,2] y)", f"y = {ML}Binarizer <threshold = 0.2> (x)")
S(
    "labelencoder",
    "(string[N] x) => (int64[N] y)",
    f'y = {ML}LabelEncoder <keys_strings = ["red", "green"], values_int64s = [1, 2], default_int64 = -1> (x)',
)
S("onehotencoder", "(string[N,1] x) => (float[N,1,3] y)", f'y = {ML}OneHotEncoder <cats_strings = ["red", "green", "blue"], zeros = 1> (x)')
S("featurevectorizer", "(float[N,2] x, float[N,1] z) => (float[N,3] y)", f"y = {ML}FeatureVectorizer <inputdimensions = [2, 1]> (x, z)")
H("label-by-most-common-row", "(float[N,4] x) => (int64[1] y)", "m = ReduceMean <axes = [0]> (x)\ny = ArgMax <axis = 1, keepdims = 0> (m)")
H("scaler-of-a-vector", "(float[N] x) => (float[N] y)", f"y = {ML}Scaler <offset = [0.5, 1.0], scale = [2.0, 0.5]> (x)")
