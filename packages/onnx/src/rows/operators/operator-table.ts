/** Every operator the analysis knows, by domain. What is not here is unknown. */
import type { Transfer } from '../call.ts';
import { Size } from '../size.ts';
import * as attention from './attention.ts';
import * as flow from './control-flow.ts';
import * as space from './convolution.ts';
import { einsum } from './einsum.ts';
import * as element from './elementwise.ts';
import * as make from './generators.ts';
import * as index from './indexing.ts';
import * as learn from './learning.ts';
import { loss } from './losses.ts';
import * as matrix from './matrix.ts';
import * as move from './movement.ts';
import * as norm from './normalisation.ts';
import * as part from './parts.ts';
import * as quant from './quantisation.ts';
import { recurrent } from './recurrent.ts';
import * as reduce from './reduction.ts';
import * as list from './sequences.ts';
import * as signal from './signal.ts';

type Entry = readonly [names: string, transfer: Transfer];

const plusFold = (left: Size, right: Size): Size | undefined => left.plus(right);
const timesFold = (left: Size, right: Size): Size | undefined => left.times(right);
const sum = element.arithmetic(element.foldPlus);
const until7 = element.equalShapesUntil7;

const standard: readonly Entry[] = [
  [
    `Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Celu Clip Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish IsInf IsNaN
    LeakyRelu Log Mish Neg Reciprocal Relu RegexFullMatch Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan
    Tanh ThresholdedRelu`,
    element.elementwiseUnary,
  ],
  ['Ceil Floor Round', element.rounded],
  ['Cast CastLike', element.cast],
  ['Identity', element.unchanged],
  ['Dropout', element.dropout],
  ['Not', element.not],
  ['Add', sum],
  ['Sum', until7(sum)],
  ['Sub', element.arithmetic(element.foldMinus)],
  ['Mul', element.arithmetic(element.foldTimes)],
  ['Div', element.arithmetic(element.foldQuotient)],
  ['Max', until7(element.arithmetic(element.foldMaximum))],
  ['Min', until7(element.arithmetic(element.foldMinimum))],
  ['Equal', element.arithmetic(element.foldEqual)],
  ['Greater', element.arithmetic(element.foldGreater)],
  ['Less', element.arithmetic(element.foldLess)],
  ['And', element.arithmetic(element.foldAnd)],
  ['Or', element.arithmetic(element.foldOr)],
  ['Where', element.where],
  ['BitShift BitwiseAnd BitwiseOr BitwiseXor GreaterOrEqual LessOrEqual Mod Pow PRelu StringConcat Xor', element.nary],
  ['Mean', until7(element.nary)],
  ['ReduceSum', reduce.reduce(13, plusFold)],
  ['ReduceProd', reduce.reduce(18, timesFold)],
  ['ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceSumSquare', reduce.reduce(18)],
  ['ArgMax ArgMin', reduce.indexOfExtreme],
  ['Softmax LogSoftmax Hardmax', reduce.softmax],
  ['LpNormalization', reduce.along('axis', -1)],
  ['CumSum CumProd', reduce.cumulative],
  ['TopK', reduce.topK],
  ['MeanVarianceNormalization', reduce.meanVarianceNormalisation],
  ['ReverseSequence', reduce.reverseSequence],
  ['Compress', reduce.compress],
  ['NonZero', reduce.dataDependent('it lists elements of all rows', 2)],
  ['Unique', reduce.dataDependent('it compares the elements of all rows')],
  ['NonMaxSuppression', reduce.dataDependent('it lists boxes of all rows, named by the number of the row', 2)],
  ['StringNormalizer', learn.normalisedTexts],
  ['StringSplit', learn.splitTexts],
  ['NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss', loss],
  ['LayerNormalization RMSNormalization', norm.layerNormalisation],
  ['InstanceNormalization GroupNormalization', norm.instanceNormalisation],
  ['BatchNormalization', norm.batchNormalisation],
  ['LRN', norm.localResponse],
  ['Conv', space.convolution(1)],
  ['ConvTranspose', space.convolution(1, true)],
  ['ConvInteger', space.convolution(1)],
  ['QLinearConv', space.convolution(3)],
  ['DeformConv', space.leading('weights', [1, 3])],
  ['GridSample', space.leading('first', [])],
  ['AffineGrid', space.affineGrid],
  ['MaxPool AveragePool LpPool', space.pool],
  ['GlobalAveragePool GlobalMaxPool GlobalLpPool', space.globalPool],
  ['Resize Upsample', space.resize],
  ['SpaceToDepth', move.blocks((size, factor) => size.times(Size.constant(factor)), false)],
  ['DepthToSpace', move.blocks((size, factor) => size.dividedBy(Size.constant(factor)), true)],
  ['MatMul', matrix.product(0, 1)],
  ['MatMulInteger', matrix.product(0, 1, [2])],
  ['QLinearMatMul', matrix.product(0, 3, [1, 2, 6, 7])],
  ['Gemm', matrix.gemm(0, 1, 2)],
  ['Einsum', einsum],
  ['Det', matrix.ofMatrices(true)],
  ['Reshape', move.reshape],
  ['Flatten', move.flatten],
  ['Squeeze', move.squeeze],
  ['Unsqueeze', move.unsqueeze],
  ['Transpose', move.transpose],
  ['Concat', move.concat],
  ['Slice', part.slice],
  ['Split', part.split],
  ['Expand', move.expand],
  ['Tile', move.tile],
  ['Pad', part.pad],
  ['Gather', index.gather],
  ['GatherElements', index.gatherElements],
  ['GatherND', index.gatherNd],
  ['Scatter ScatterElements', index.scatterElements],
  ['ScatterND', index.scatterNd],
  ['OneHot', index.oneHot],
  ['Trilu', index.triangle],
  ['CenterCropPad', index.cropOrPad],
  ['RNN LSTM GRU', recurrent],
  ['QuantizeLinear DequantizeLinear', quant.linear],
  ['DynamicQuantizeLinear', quant.dynamic],
  ['Attention', attention.standardAttention],
  ['RotaryEmbedding', attention.rotaryEmbedding(3)],
  ['Constant', make.constant],
  ['Shape', make.shapeOf],
  ['Size', make.sizeOf],
  ['ConstantOfShape', make.constantOfShape],
  ['Range', make.range],
  ['EyeLike', make.eyeLike],
  ['RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial', make.random],
  ['HannWindow HammingWindow BlackmanWindow', make.settingsTable(1)],
  ['MelWeightMatrix', make.settingsTable(2)],
  ['DFT', signal.fourier],
  ['STFT', signal.shortFourier],
  ['Col2Im', signal.picturesFromColumns],
  ['If', flow.condition],
  ['Loop', flow.loop],
  ['Scan', flow.scan],
  ['TfIdfVectorizer', learn.termFrequencies],
  ['BitCast', element.elementwiseUnary],
  ['SequenceConstruct', list.construct],
  ['SequenceEmpty', list.empty],
  ['SequenceAt', list.at],
  ['SequenceInsert', list.insert],
  ['SequenceErase', list.erase],
  ['SequenceLength', list.length],
  ['ConcatFromSequence', list.join],
  ['SplitToSequence', list.splitToSequence],
  ['Optional OptionalGetElement', list.optional],
  ['OptionalHasElement', list.hasElement],
];

const learning: readonly Entry[] = [
  ['TreeEnsembleClassifier', learn.samples(true, learn.classes)],
  ['LinearClassifier', learn.samples(true, learn.linearClasses)],
  ['SVMClassifier', learn.samples(true, learn.unknownWidth)],
  ['TreeEnsembleRegressor TreeEnsemble', learn.samples(false, learn.widthFrom('n_targets', undefined))],
  ['LinearRegressor', learn.samples(false, learn.widthFrom('targets', 1))],
  ['SVMRegressor', learn.samples(false, () => 1)],
  ['Scaler Imputer Normalizer', learn.perFeature],
  ['Binarizer LabelEncoder CategoryMapper', element.elementwiseUnary],
  ['OneHotEncoder', learn.oneHotEncoder],
  ['FeatureVectorizer', learn.joinFeatures],
  ['ArrayFeatureExtractor', index.features],
  // Cut off before the model is served: its scores are the output.
  ['ZipMap', element.elementwiseUnary],
];

const microsoft: readonly Entry[] = [
  ['Gelu QuickGelu MurmurHash3', element.elementwiseUnary],
  ['CDist', matrix.distances],
  ['BiasGelu FastGelu', element.nary],
  ['Inverse', matrix.ofMatrices(false)],
  ['FusedMatMul TransposeMatMul', matrix.fusedProduct],
  ['FusedGemm', matrix.gemm(0, 1, 2)],
  ['MatMulNBits', matrix.packedProduct],
  ['MatMulIntegerToFloat', matrix.product(0, 1, [2, 4])],
  ['FusedConv', space.convolution(1)],
  ['LayerNormalization SimplifiedLayerNormalization', norm.layerNormalisation],
  ['SkipLayerNormalization', norm.skipLayerNormalisation(4)],
  ['SkipSimplifiedLayerNormalization', norm.skipLayerNormalisation(3)],
  ['EmbedLayerNormalization', index.embedding],
  ['Attention', attention.fusedAttention],
  ['MultiHeadAttention', attention.multiHeadAttention],
  ['GroupQueryAttention', attention.groupQueryAttention],
  ['RotaryEmbedding', attention.rotaryEmbedding(1)],
  ['QuantizeLinear DequantizeLinear', quant.linear],
  ['QLinearAdd QLinearMul', quant.quantisedBinary],
  ['QLinearWhere', quant.quantisedWhere],
  ['QLinearConcat', quant.quantisedConcat],
  ['QLinearSoftmax', quant.quantisedSoftmax],
  ['QLinearAveragePool', space.averagePool],
  ['ExpandDims', move.expandDims],
  ['QLinearSigmoid QLinearLeakyRelu', element.elementwiseUnary],
  ['QLinearGlobalAveragePool', space.globalPool],
  ['QGemm', matrix.gemm(0, 3, 6)],
  ['DynamicQuantizeMatMul DynamicQuantizeLSTM', reduce.dataDependent('its scale is computed from all rows together')],
  ['Trilu', index.triangle],
  ['Tokenizer', reduce.dataDependent('the longest row decides the size')],
];

const domains: readonly (readonly [string, readonly Entry[]])[] = [
  ['', standard],
  ['ai.onnx.ml', learning],
  ['com.microsoft', microsoft],
];

function keyOf(domain: string, operator: string): string {
  return `${domain}:${operator}`;
}

const operators: ReadonlyMap<string, Transfer> = new Map(
  domains.flatMap(([domain, entries]) =>
    entries.flatMap(([names, transfer]) =>
      names.split(/\s+/).map((name): [string, Transfer] => [keyOf(domain, name), transfer]),
    ),
  ),
);

export function transferOf(domain: string, operator: string): Transfer | undefined {
  return operators.get(keyOf(domain, operator));
}

/** All operators known, as `domain:name`. */
export function knownOperators(): readonly string[] {
  return [...operators.keys()];
}

/** Whether the operator takes lists of tensors. */
export function takesSequences({ domain, operator }: { readonly domain: string; readonly operator: string }): boolean {
  return domain === '' && /^(Sequence|ConcatFromSequence$|Optional)/.test(operator);
}
