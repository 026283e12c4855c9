import { expect, test } from 'vitest';
import type { Management } from '../../management/management.ts';
import { GRPCInferenceService } from '../../proto/generated/inference/grpc_service_pb.ts';
import { repositoryMethods } from '../grpc/repository-methods.ts';
import { createManagementEdge } from '../management/edge.ts';
import { resolveRestConfig } from '../rest/config.ts';
import { repositoryRoutes } from '../rest/repository-routes.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { isManagementPath } from './management-paths.ts';

const management = {} as Management;
const { routes, service } = createManagementEdge({ management });
const restRoutes = [
  ...routes,
  ...repositoryRoutes({ management, config: resolveRestConfig({}), slices: new SliceQueue(), onError: () => {} }),
];
const repository = new Set(repositoryMethods(management).map(({ name }) => name));

test('every route and method of management is one', () => {
  const paths = [
    ...restRoutes.map(({ path }) => path),
    ...service.service.methods.map(({ name }) => `/${service.service.name}/${name}`),
    ...[...repository].map((name) => `/${GRPCInferenceService.typeName}/${name}`),
  ];
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((path) => !isManagementPath(path))).toEqual([]);
});

test('no method of inference is', () => {
  const others = GRPCInferenceService.methods.filter(({ name }) => !repository.has(name));
  expect(others.map(({ name }) => name)).toContain('ModelInfer');
  expect(others.filter(({ name }) => isManagementPath(`/${GRPCInferenceService.typeName}/${name}`))).toEqual([]);
  for (const path of ['/v2', '/v2/models/repository/infer', '/v2/health/live', '/openapi.json', '/metrics']) {
    expect(isManagementPath(path), path).toBe(false);
  }
});
