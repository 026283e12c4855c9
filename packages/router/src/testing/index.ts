/** Stand-ins and contract suites for tests of other packages; not published. */
export { HeldClock } from '../data-plane/testing/held-clock.ts';
export { inferRequest } from '../data-plane/testing/requests.ts';
export { grpcManagement } from '../edges/management/testing/grpc-management.ts';
export { type ManagementSubject, managementContract } from '../edges/management/testing/management-contract.ts';
export { ManagementDouble } from '../edges/management/testing/management-double.ts';
export { type RemoteManagement, RemoteRefusal } from '../edges/management/testing/remote-management.ts';
export { restManagement } from '../edges/management/testing/rest-management.ts';
export { ScriptedLibrary } from '../life-cycle/testing/scripted-library.ts';
export { serveTestModel } from '../repository/testing/test-model.ts';
