/** Metadata, configuration and readiness as the Open Inference Protocol writes them. */
import type { HttpResponse } from '@millrace/http';
import { type JsonValue, JsonWriter, type TensorSpec, writeJsonValue } from '@millrace/protocol';
import type { ModelView } from '../../model/model-view.ts';
import type { RunSharing } from '../../model/run-sharing.ts';

/** `versions` are the ready ones, or the one that was asked for. */
export function encodeModelMetadata(view: ModelView, versions: readonly string[]): HttpResponse {
  return jsonResponse({
    name: view.name,
    versions: [...versions],
    platform: view.platform,
    inputs: view.inputs.map(tensorMetadata),
    outputs: view.outputs.map(tensorMetadata),
    ...(view.sharing === undefined ? {} : { parameters: sharingParameters(view.sharing) }),
  });
}

/** An extension of the protocol: an object of parameters, where clients expect additional fields. */
function sharingParameters({ sharesRuns, verdict, reason }: RunSharing): JsonValue {
  const node = verdict.kind === 'independent' ? {} : { row_verdict_node: verdict.node };
  return { shares_runs: sharesRuns, row_verdict: verdict.kind, ...node, shares_runs_reason: reason };
}

export function encodeModelConfig(view: ModelView): HttpResponse {
  // The same values; only the type differs, by `readonly`.
  return jsonResponse(view.config as JsonValue);
}

function tensorMetadata({ name, datatype, shape }: TensorSpec): JsonValue {
  return { name, datatype, shape: [...shape] };
}

export function jsonResponse(value: JsonValue, status = 200): HttpResponse {
  const writer = new JsonWriter(1024);
  writeJsonValue(writer, value);
  return { status, headers: [['content-type', 'application/json']], body: writer.take() };
}
