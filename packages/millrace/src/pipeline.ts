/** What pipelines are written with. In a worker the same module stands behind this name, also where nothing is installed. */
export {
  type Datatype,
  type DecodeOptions,
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
