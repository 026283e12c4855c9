/** The accelerators that a configuration asks for: on GPUs TensorRT, where it is installed. Answers are the same without. */
import type { GpuProvider, GpuSupport } from '@millrace/protocol';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

export function readGpuProvider(config: ModelConfig, support: GpuSupport, findings: Findings): GpuProvider {
  const field = 'optimization.execution_accelerators';
  const written = config.optimization?.execution_accelerators;
  for (const [index, { name = '' }] of (written?.cpu_execution_accelerator ?? []).entries()) {
    const path = `${field}.cpu_execution_accelerator[${index}]`;
    findings.warning(path, `${JSON.stringify(name)} has no effect: on the CPU the engine runs without accelerators`);
  }
  let provider: GpuProvider = 'cuda';
  for (const [index, { name = '', parameters = {} }] of (written?.gpu_execution_accelerator ?? []).entries()) {
    const path = `${field}.gpu_execution_accelerator[${index}]`;
    if (name !== 'tensorrt') {
      findings.warning(path, `${JSON.stringify(name)} has no effect: the only supported accelerator is "tensorrt"`);
    } else if (!support.hasTensorrt) {
      findings.warning(path, 'TensorRT is not installed beside the engine; the model runs without it');
    } else {
      provider = 'tensorrt';
      const keys = Object.keys(parameters);
      if (keys.length > 0) {
        findings.warning(`${path}.parameters`, `${keys.join(', ')} cannot be passed to the engine and have no effect`);
      }
    }
  }
  return provider;
}
