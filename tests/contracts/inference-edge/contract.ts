/**
 * What everyone who asks for inference relies on, whatever the protocol. Run for each face of a real server and for the
 * embedding API, so that none of them can drift from the others.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { testAnswers } from './answers.ts';
import { testGivingUp } from './giving-up.ts';
import type { FaceOutcome, FaceRequest, InferenceFace } from './inference-face.ts';
import { testLoad } from './load.ts';
import { testNames } from './names.ts';
import { testRefusals } from './refusals.ts';
import type { Script } from './scripted-model.ts';
import type { ServerHarness } from './server-harness.ts';

/** What a case may need and a protocol may lack. */
export type Ability =
  | '16-bit floats'
  | 'bytes that are not text'
  | 'classification'
  | 'free parameters'
  | 'a limit on messages'
  | 'answers left unread'
  | 'metrics';

export interface FaceUnderTest {
  readonly name: string;
  /** What this protocol cannot say, and why. Cases that need it are left out. */
  readonly lacks: Readonly<Partial<Record<Ability, string>>>;
  /** Called when the tests run. */
  open(): InferenceFace;
  harness(): ServerHarness;
}

/** What the cases are given. */
export interface FaceTools {
  readonly script: Script;
  readonly face: InferenceFace;
  readonly harness: ServerHarness;
  infer(request: FaceRequest): Promise<FaceOutcome>;
  /** A case that does not exist where the face lacks something. */
  testWith(ability: Ability | undefined, title: string, run: () => Promise<void>): void;
  readonly lacks: FaceUnderTest['lacks'];
}

export function inferenceContract(subject: FaceUnderTest, script: Script): void {
  describe(`inference: ${subject.name}`, () => {
    let face: InferenceFace;
    beforeAll(() => {
      face = subject.open();
    });
    // A case that failed half-way must not hold up those after it.
    afterEach(() => script.releaseAll());
    afterAll(() => face.close());
    const leftOut = new Set<Ability>();
    const tools: FaceTools = {
      script,
      lacks: subject.lacks,
      get face() {
        return face;
      },
      get harness() {
        return subject.harness();
      },
      infer: (request) => face.call(request).outcome,
      testWith: (ability, title, run) => {
        if (ability === undefined || subject.lacks[ability] === undefined) test(title, run);
        else leftOut.add(ability);
      },
    };
    testAnswers(tools);
    testNames(tools);
    testRefusals(tools);
    testGivingUp(tools);
    testLoad(tools);
    test('features that the protocol lacks leave out cases, each with its reason', () => {
      // Cases ask for metrics themselves, and wait for something else where there are none.
      const { metrics: _, ...lacks } = subject.lacks;
      expect(new Set(Object.keys(lacks))).toEqual(leftOut);
    });
  });
}
