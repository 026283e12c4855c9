/** The API for pipelines. A worker resolves this module name itself, so pipelines need no installation beside them. */
export {
  type Datatype,
  type DecodeOptions,
  decodeTexts,
  definePipeline,
  type GivenTensor,
  invalid,
  type ModelCallOptions,
  type PipelineContext,
  type PipelineDefinition,
  type PipelineRequest,
  type PipelineTensor,
  type TensorData,
  type TensorDeclaration,
  type TensorDeclarations,
} from '@millrace/worker/pipeline';
