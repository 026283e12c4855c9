import { expect, test } from 'vitest';
import { type OpenRequest, openDecisionOf } from './open-decision.ts';

const existing = { principal: 'ann', context: 'm', parametersDigest: 'p', modelDigest: 'd', hasEnded: false };
const request: OpenRequest = { stream: 's', mode: 'either', principal: 'ann', context: 'm', parametersDigest: 'p' };

function codeOf(...parameters: Parameters<typeof openDecisionOf>): string {
  const decision = openDecisionOf(...parameters);
  if (decision.kind === 'refuse') return decision.error.code;
  return decision.kind === 'resume' && decision.lost !== undefined ? `resume: ${decision.lost.code}` : decision.kind;
}

test('an unknown stream is created, unless it is to be resumed', () => {
  expect(codeOf(request, undefined, 'd')).toBe('create');
  expect(codeOf({ ...request, mode: 'new' }, undefined, 'd')).toBe('create');
  expect(codeOf({ ...request, mode: 'resume' }, undefined, 'd')).toBe('stream-not-found');
});

test('an existing stream is resumed with the same parameters and context, and otherwise a conflict', () => {
  expect(codeOf(request, existing, 'd')).toBe('resume');
  expect(codeOf({ ...request, parametersDigest: 'q' }, existing, 'd')).toBe('stream-conflict');
  expect(codeOf({ ...request, context: 'n' }, existing, 'd')).toBe('stream-conflict');
  expect(codeOf({ ...request, parametersDigest: undefined }, existing, 'd')).toBe('stream-conflict');
  expect(codeOf({ ...request, mode: 'new' }, existing, 'd')).toBe('stream-conflict');
});

test('a resume may leave out parameters and context', () => {
  const resume: OpenRequest = { ...request, mode: 'resume', context: undefined, parametersDigest: undefined };
  expect(codeOf(resume, existing, 'd')).toBe('resume');
  expect(codeOf({ ...resume, parametersDigest: 'q' }, existing, 'd')).toBe('stream-conflict');
});

test('another principal never learns that a stream exists', () => {
  for (const mode of ['new', 'resume', 'either'] as const) {
    expect(codeOf({ ...request, mode, principal: 'bob' }, existing, 'd')).toBe('stream-not-found');
  }
});

test('other files, or none, end a stream that has not ended yet', () => {
  expect(codeOf(request, existing, 'e')).toBe('resume: model-changed');
  expect(codeOf(request, existing, undefined)).toBe('resume: model-unloaded');
  expect(codeOf(request, { ...existing, hasEnded: true }, 'e')).toBe('resume');
});
