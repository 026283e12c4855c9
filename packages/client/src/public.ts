/** What every entry point exports. */

export type { WrittenHeaders } from './calls/header-source.ts';
export type {
  Client,
  ClientCallOptions,
  ClientOptions,
  DurableStreamOptions,
  InferenceOptions,
  InferenceResult,
  ModelClient,
} from './client.ts';
export type { ClientClock } from './client-clock.ts';
export type { CallIdentity, ClientEvent, ClientObserver } from './client-observer.ts';
export { MillraceError, type MillraceErrorCode } from './errors/millrace-error.ts';
export type { GeneratedText, GenerateOptions, TextPiece } from './generated-text.ts';
export type {
  AnyModels,
  InputsOf,
  ModelType,
  ModelTypes,
  OutputsOf,
  StreamInputOf,
  StreamOutputsOf,
  TensorType,
} from './model-types.ts';
export { defaultServiceConfig, type ServiceConfig } from './policy/service-config.ts';
export type { InferenceStream, StreamedOutput, StreamPosition } from './session/inference-stream.ts';
export type { ModelInput, ShapedInput } from './tensors/input-tensor.ts';
export type { OutputTensor } from './tensors/output-tensor.ts';
export type { ModelDescription, ModelListing, TensorDescription, TransportFactory } from './transports/transport.ts';
export { connectTransport, eventTransport, grpcWebTransport, webSocketTransport } from './transports/web.ts';
