/** A pipeline for the lane contract: it does what its input `say` says. Loaded by workers, and by the suite itself. */
import { definePipeline, invalid } from 'millrace/pipeline';

export default definePipeline({
  inputs: { say: { datatype: 'BYTES', shape: [1] }, x: { datatype: 'FP32', shape: [-1] } },
  outputs: { y: { datatype: 'FP32', shape: [-1] }, said: { datatype: 'BYTES', shape: [1] } },
  async run({ inputs }, context) {
    const { x } = inputs;
    const say = new TextDecoder().decode(inputs.say.data[0]);
    const answer = (data: Float32Array, said = 'done') => ({ y: { data }, said: { data: [said] } });
    const call = async (model: string, options = {}) =>
      (await context.infer(model, { x }, options)).y?.data as Float32Array;
    switch (say) {
      case 'echo':
        return answer(x.data);
      case 'call':
        return answer(await call('double', { version: '3', outputs: ['y'], timeoutMs: 1234 }));
      case 'call two': {
        const [one, two] = await Promise.all([call('one'), call('two')]);
        return answer(Float32Array.of(...one, ...two));
      }
      case 'catch':
        try {
          return answer(await call('refusing'));
        } catch (error) {
          const { code, message } = error as Error & { code: string };
          return answer(x.data, `${code}: ${message}`);
        }
      case 'forget':
        void context.infer('forgotten', { x });
        return answer(x.data);
      case 'give up': {
        const controller = new AbortController();
        const open = call('slow', { signal: controller.signal });
        controller.abort();
        await open.catch(() => {});
        return answer(x.data, 'gave up');
      }
      case 'wait':
        await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('stopped'))));
        return answer(x.data);
      case 'invalid':
        throw invalid('there is nothing to do');
      case 'throw':
        throw new RangeError('out of luck');
      default:
        throw new Error(`cannot ${say}`);
    }
  },
});
