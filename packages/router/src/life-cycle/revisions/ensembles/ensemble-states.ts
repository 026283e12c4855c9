/**
 * Finds out whether ensembles can be served, and reports it: one is ready when all of its steps are and fit together. Models
 * change, so this is checked again after every change; the steps themselves are resolved for each request.
 */

import type { ServedModels } from '../../../catalogue/served-models.ts';
import type { ServedModel } from '../../../data-plane/served-model.ts';
import type { EnsembleDefinition } from '../../../model/ensemble-definition.ts';
import type { ModelView } from '../../../model/model-view.ts';
import { findSteps } from './step-views.ts';

export interface EnsembleStatesParts {
  readonly models: ServedModels;
  /** Called with every verdict that differs from the one before. */
  readonly report: (model: ServedModel, verdict: EnsembleVerdict) => void;
}

interface Entry {
  readonly model: ServedModel;
  readonly definition: EnsembleDefinition;
  /** The last reported state; undefined before the first. */
  told: EnsembleVerdict | undefined;
}

export interface EnsembleVerdict {
  readonly state: 'ready' | 'loading' | 'failed';
  readonly reason: string;
}

const ready: EnsembleVerdict = { state: 'ready', reason: '' };

export class EnsembleStates {
  readonly #parts: EnsembleStatesParts;
  readonly #entries = new Map<ServedModel, Entry>();
  readonly #stopListening: () => void;
  #isChecking: boolean = false;
  #isStale: boolean = false;

  constructor(parts: EnsembleStatesParts) {
    this.#parts = parts;
    this.#stopListening = parts.models.onChange(() => this.#checkAll());
  }

  /** From here on the ensemble's steps are followed. */
  add(model: ServedModel, definition: EnsembleDefinition): void {
    this.#entries.set(model, { model, definition, told: undefined });
    this.#checkAll();
  }

  /** Stops following its steps. */
  remove(model: ServedModel): void {
    this.#entries.delete(model);
  }

  stop(): void {
    this.#stopListening();
  }

  /** A changed state may make other ensembles ready: checks until nothing changes. */
  #checkAll(): void {
    this.#isStale = true;
    if (this.#isChecking) return;
    this.#isChecking = true;
    while (this.#isStale) {
      this.#isStale = false;
      for (const entry of [...this.#entries.values()]) this.#tell(entry, this.#verdictOn(entry));
    }
    this.#isChecking = false;
  }

  #tell(entry: Entry, verdict: EnsembleVerdict): void {
    const { told, model } = entry;
    if (!this.#entries.has(model)) return;
    if (told?.state === verdict.state && told.reason === verdict.reason) return;
    entry.told = verdict;
    this.#parts.report(model, verdict);
  }

  #verdictOn({ model, definition }: Entry): EnsembleVerdict {
    const circle = this.#circleFrom(model);
    if (circle !== undefined) {
      return failed(
        `it contains itself (${circle.join(', which contains ')}); remove it from the steps of one of them`,
      );
    }
    const steps = findSteps(this.#parts.models, model.view, definition);
    if (steps.kind !== 'ready') {
      const reason = steps.problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
      return { state: steps.kind, reason };
    }
    this.#inheritLabels(model.view, definition, steps.views);
    return ready;
  }

  /** An output without labels of its own has those of the model that gives it. */
  #inheritLabels(view: ModelView, definition: EnsembleDefinition, steps: readonly ModelView[]): void {
    const { plan, labels, ownLabels } = definition;
    for (const [index, { step, position }] of plan.outputs.entries()) {
      const name = view.outputs[index]?.name as string;
      if (ownLabels.has(name)) continue;
      const inherited = steps[step]?.labels.get(plan.steps[step]?.gives[position] as string);
      if (inherited === undefined) labels.delete(name);
      else labels.set(name, inherited);
    }
  }

  /** The names on the cycle from the ensemble back to itself; undefined when there is none. */
  #circleFrom(start: ServedModel): readonly string[] | undefined {
    const byName = new Map<string, Entry>();
    for (const entry of this.#entries.values()) byName.set(entry.model.view.name, entry);
    const seen = new Set<string>();
    const visit = (name: string, trail: readonly string[]): readonly string[] | undefined => {
      if (trail.length > 0 && name === start.view.name) return [...trail, name];
      if (seen.has(name)) return undefined;
      seen.add(name);
      const definition = trail.length === 0 ? this.#entries.get(start)?.definition : byName.get(name)?.definition;
      for (const step of definition?.plan.steps ?? []) {
        const circle = visit(step.model, [...trail, name]);
        if (circle !== undefined) return circle;
      }
      return undefined;
    };
    return visit(start.view.name, []);
  }
}

function failed(reason: string): EnsembleVerdict {
  return { state: 'failed', reason };
}
