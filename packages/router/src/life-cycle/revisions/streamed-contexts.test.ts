import { expect, test } from 'vitest';
import type { ContextPlan } from './context-plan.ts';
import { contextsOf } from './streamed-contexts.ts';

/** The plans of contexts with these members, each `model:version` or an ensemble `name:version>step,step`. */
function plansOf(contexts: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, ContextPlan> {
  const plans = Object.entries(contexts).map(([name, members]) => {
    const plan = { name, members: members.map(memberFrom) } as unknown as ContextPlan;
    return [name, plan] as const;
  });
  return new Map(plans);
}

function memberFrom(text: string) {
  const [key = '', steps] = text.split('>');
  const [name, version] = key.split(':');
  const planned = steps?.split(',').map((step) => {
    const [model = '', of = ''] = step.split(':');
    return { model, version: of };
  });
  return { definition: { name }, version: { version, ...(planned && { ensemble: { plan: { steps: planned } } }) } };
}

test('the context of a version is that of its own, or the group that holds it', () => {
  const plans = plansOf({ 'a:1': ['a:1'], 'a:2': ['a:2'], group: ['b:1', 'c:1'], 'd:1': ['d:1'] });
  expect([...contextsOf(new Set(['a:2', 'c:1', 'gone:1']), plans)]).toEqual(['a:2', 'group']);
  expect(contextsOf(new Set(), plans).size).toBe(0);
});

test('an ensemble needs its steps, of every version or of the one that is named, and the steps of those', () => {
  const plans = plansOf({
    'outer:1': ['outer:1>inner,b:2'],
    'inner:1': ['inner:1>a'],
    'a:1': ['a:1'],
    'a:2': ['a:2'],
    'b:1': ['b:1'],
    'b:2': ['b:2'],
  });
  expect([...contextsOf(new Set(['outer:1']), plans)].sort()).toEqual(['a:1', 'a:2', 'b:2', 'inner:1', 'outer:1']);
});
