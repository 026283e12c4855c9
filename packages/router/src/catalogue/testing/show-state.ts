import type { VersionStatus } from '@millrace/core';
import type { ServedModel } from '../../data-plane/served-model.ts';
import type { ServedModels } from '../served-models.ts';

const plain: VersionStatus = {
  state: 'ready',
  reason: '',
  replacementReason: '',
  isTolerated: false,
  hasServed: false,
  isAwaited: false,
};

/** Shows a model in this state, as the keeper would have it shown. */
export function showState(models: ServedModels, model: ServedModel, status: Partial<VersionStatus>): void {
  const { name, version } = model.view;
  models.show({ model: name, version }, { ...plain, ...status }, model);
}

/** Shows a version, or with an empty one a model, that cannot be read. */
export function showUnreadable(models: ServedModels, model: string, version: string, reason: string): void {
  models.show({ model, version }, { ...plain, state: 'failed', reason }, undefined);
}
