/**
 * Every setting of the server, once: from this table come the defaults, the YAML keys (`group.field`), the MILLRACE_*
 * variables, the flags, their help and completion, and docs/reference/config.md.
 */
import {
  account,
  addressRanges,
  boolean,
  booleanOrAuto,
  byteSize,
  type ConfigField,
  choice,
  contextName,
  fieldName,
  file,
  folder,
  host,
  hostPatterns,
  identifier,
  integer,
  integerOrAuto,
  names,
  origins,
  paths,
  portOrSame,
  seconds,
  socketPath,
  socketPaths,
} from './field-kinds.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const daySeconds = 86_400;

export const fields = {
  models: {
    paths: paths({
      flag: 'models',
      synonyms: ['model-repository', 'model-store', 'model-path', 'model-dir'],
      description:
        'Folders of models (`NAME/VERSION/model.onnx`, `NAME.onnx`), or single .onnx files; also the arguments of `millrace serve`.',
      default: [],
    }),
    exitOnError: boolean({
      flag: 'exit-on-model-error',
      synonyms: ['exit-on-error'],
      description: 'Stop when a model fails to load, instead of serving the others.',
      default: false,
    }),
    strictReadiness: boolean({
      flag: 'strict-readiness',
      description: 'Be ready only when every model is; otherwise when none is loading and at least one is ready.',
      default: true,
    }),
    strictBatching: boolean({
      flag: 'strict-batching',
      description:
        'Refuse a model whose configuration lets requests share runs although the rows of its graph depend on each other, instead of warning.',
      default: false,
    }),
    controlMode: choice({
      flag: 'model-control-mode',
      synonyms: ['control-mode'],
      description:
        'What decides which models are served: the repository at the start (none), the repository as it changes (poll), or load requests (explicit).',
      default: 'none',
      choices: ['none', 'poll', 'explicit'],
      placeholder: 'MODE',
    }),
    load: names({
      flag: 'load-model',
      synonyms: ['startup-models', 'load-models'],
      description: 'In explicit mode: a model to load at the start; * loads all of them.',
      default: [],
    }),
    pollSeconds: seconds({
      flag: 'repository-poll-secs',
      synonyms: ['file-system-poll-wait-seconds', 'poll-seconds'],
      description:
        'In poll mode: how often to scan the repository, in addition to the change notifications of the system.',
      default: 15,
      min: 0.1,
      max: daySeconds,
    }),
    settleSeconds: seconds({
      flag: 'repository-settle-secs',
      description: 'In poll mode: how long files must be unchanged before they are loaded.',
      default: 1,
      min: 0,
      max: 3600,
    }),
    memoryBudget: byteSize({
      flag: 'model-memory-budget',
      synonyms: ['memory-budget', 'memory-limit'],
      description:
        'Memory for all models together; beyond it the least recently used models are unloaded, and loaded again on demand. 0: no limit.',
      default: 0,
      min: 0,
    }),
    loadsMax: integer({
      flag: 'model-loads-max',
      synonyms: ['model-load-thread-count'],
      description: 'Most loads in progress at once.',
      default: 4,
      min: 1,
      max: 256,
    }),
    allowUploadedCode: boolean({
      flag: 'allow-uploaded-code',
      description:
        'Allow load requests to upload code: pipelines and other files that are executed. Anyone who may load models can then run code as the server’s user.',
      default: false,
    }),
    demandWaitersMax: integer({
      flag: 'demand-waiters-max',
      description: 'Most requests that wait for one model to be loaded for them; more are refused as `model-full`.',
      default: 1024,
      min: 1,
      max: 1_000_000,
    }),
  },
  server: {
    id: identifier({
      flag: 'id',
      synonyms: ['name', 'server-name'],
      description: 'Name of this server, in its metadata and logs.',
      default: 'millrace',
    }),
    callerHeader: fieldName({
      flag: 'caller-header',
      description:
        'Header or metadata field that names the caller, for example millrace-caller. Set it only behind a gateway that writes it; without it callers are distinguished by address.',
      default: '',
    }),
    trustedProxies: addressRanges({
      flag: 'trusted-proxies',
      synonyms: ['forwarded-allow-ips', 'trusted-hosts', 'proxy-protocol'],
      description:
        'Proxies in front of this server: not limited by address. X-Forwarded-For and server.callerHeader are then trusted from them only.',
      default: [],
    }),
    host: host({
      flag: 'host',
      synonyms: ['http-address', 'address', 'bind', 'listen'],
      description: 'Address to listen on. The default is reachable from this machine only; containers set 0.0.0.0.',
      default: '127.0.0.1',
    }),
    pollMicrosMax: integer({
      flag: 'poll-micros-max',
      synonyms: ['busy-poll', 'spin'],
      description:
        'How long the server polls for the next request or answer instead of sleeping, in microseconds, while one caller sends one request after the other and no other thread wants its core. Off where processor time is limited by a control group. 0: it always sleeps.',
      default: 200,
      min: 0,
      max: 10_000,
    }),
    allowedHosts: hostPatterns({
      flag: 'allowed-hosts',
      synonyms: ['allowed-host', 'trusted-hosts'],
      description:
        'Hosts that requests may name (Host, :authority), beside loopback names and the address listened on; * allows all. Empty: on a loopback address only those, on others every host.',
      default: [],
    }),
    httpPort: integer({
      flag: 'http-port',
      synonyms: ['port', 'p'],
      description: 'Port of the inference API; 0 takes any free one and prints it.',
      default: 8000,
      min: 0,
      max: 65_535,
      placeholder: 'PORT',
    }),
    grpcPort: integer({
      flag: 'grpc-port',
      description: 'A second port of the same API, where gRPC clients expect it; 0 takes any free one and prints it.',
      default: 8001,
      min: 0,
      max: 65_535,
      placeholder: 'PORT',
    }),
    metricsPort: integer({
      flag: 'metrics-port',
      description: 'Port of /metrics; 0 takes any free one and prints it.',
      default: 8002,
      min: 0,
      max: 65_535,
      placeholder: 'PORT',
    }),
    supervise: boolean({
      flag: 'supervise',
      description:
        'Run the router as a child process that is restarted on the same ports when it dies; without it the server is one process and ends with it.',
      default: true,
    }),
  },
  management: {
    enabled: booleanOrAuto({
      flag: 'management',
      description:
        'Allow operators to see and change the running server: /v1/management and loads and unloads. auto: on loopback addresses and Unix sockets only.',
      default: 'auto',
    }),
    port: portOrSame({
      flag: 'management-port',
      synonyms: ['admin-port', 'management-address'],
      description:
        'Where management is served: on the ports of the inference API, or only on a port of its own; 0 takes any free one and prints it.',
      default: 'same',
    }),
    socket: socketPath({
      flag: 'management-socket',
      synonyms: ['admin-socket'],
      description: 'Serve management only on a Unix socket at this path, which only the server’s user may open.',
      default: '',
    }),
    host: host({
      flag: 'management-host',
      synonyms: ['admin-host'],
      description: 'Address of the management port, if management has a port of its own.',
      default: '127.0.0.1',
    }),
  },
  tls: {
    certificateFile: file({
      flag: 'tls-certificate-file',
      isReloadable: true,
      synonyms: ['tls-cert', 'ssl-certfile', 'grpc-server-cert'],
      description: 'Certificate chain in PEM. With it the HTTP and gRPC ports speak TLS; /metrics stays plain.',
      default: '',
    }),
    keyFile: file({
      flag: 'tls-key-file',
      isReloadable: true,
      synonyms: ['tls-key', 'ssl-keyfile', 'grpc-server-key'],
      description: 'Private key of the certificate, in PEM.',
      default: '',
    }),
    clientAuthorityFile: file({
      flag: 'tls-client-authority-file',
      isReloadable: true,
      synonyms: ['tls-ca', 'client-ca', 'grpc-root-cert'],
      description: 'Authorities in PEM. With it clients must present a certificate signed by one of them.',
      default: '',
    }),
  },
  log: {
    level: choice({
      flag: 'log-level',
      isReloadable: true,
      synonyms: ['verbosity', 'log-verbose'],
      description: 'Least severe messages to log. The line with the addresses is written at every level but silent.',
      default: 'info',
      choices: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
      placeholder: 'LEVEL',
    }),
    format: choice({
      flag: 'log-format',
      description: 'JSON lines, or lines for people (pretty); auto is pretty on a terminal and JSON elsewhere.',
      default: 'auto',
      choices: ['auto', 'json', 'pretty'],
      placeholder: 'FORMAT',
    }),
    requests: boolean({
      flag: 'log-requests',
      synonyms: ['access-log'],
      description: 'Log a line for every request.',
      default: false,
    }),
  },
  shutdown: {
    noticeSeconds: seconds({
      flag: 'shutdown-notice-seconds',
      isReloadable: true,
      description:
        'How long to keep serving, reported as not ready, after SIGTERM, so that load balancers stop sending requests first.',
      default: 0,
      min: 0,
      max: 600,
    }),
    drainSecondsMax: seconds({
      flag: 'drain-seconds-max',
      isReloadable: true,
      synonyms: ['exit-timeout-secs', 'grace-period', 'shutdown-timeout'],
      description: 'How long requests in progress may take to finish before the server closes anyway.',
      default: 30,
      min: 0,
      max: 3600,
    }),
  },
  http: {
    jsonBytesMax: byteSize({
      flag: 'json-bytes-max',
      synonyms: ['http-max-input-size'],
      description:
        'Largest JSON part of a request, after decompression. Send larger tensors as binary data, which only `http.bodyBytesMax` limits.',
      default: 16 * MiB,
      min: KiB,
      max: 512 * MiB,
    }),
    jsonHeadBytesMax: byteSize({
      flag: 'json-head-bytes-max',
      description: 'Largest JSON of a request without the data of tensors: names, shapes, parameters and ignored keys.',
      default: 128 * KiB,
      min: KiB,
      max: 16 * MiB,
    }),
    jsonElementsMax: integer({
      flag: 'json-elements-max',
      description: 'Most elements of all tensors together in the JSON of one request.',
      default: 4_194_304,
      min: 1,
      max: 1_000_000_000,
    }),
    unpackingsMax: integer({
      flag: 'unpackings-max',
      description: 'Most compressed request bodies that are decompressed at once; others wait, and callers take turns.',
      default: 2,
      min: 1,
      max: 1024,
    }),
    bodyBytesMax: byteSize({
      flag: 'body-bytes-max',
      description: 'Largest request body, binary tensors included, after decompression.',
      default: 256 * MiB,
      min: KiB,
      max: 2 * GiB - 1,
    }),
    inputsMax: integer({
      flag: 'inputs-max',
      description: 'Most input tensors in one request.',
      default: 256,
      min: 1,
      max: 65_536,
    }),
    headerBytesMax: byteSize({
      flag: 'header-bytes-max',
      description: 'Largest request line and header fields together.',
      default: 16 * KiB,
      min: KiB,
      max: MiB,
    }),
    connectionsMax: integer({
      flag: 'connections-max',
      description:
        'Most open connections on all ports together; at the limit idle ones are closed for new ones. Lowered where ulimit -n is too low.',
      default: 10_000,
      min: 1,
      max: 1_000_000,
    }),
    connectionsPerAddressMax: integer({
      flag: 'connections-per-address-max',
      synonyms: ['max-connections-per-ip', 'connections-per-ip'],
      description:
        'Most open connections from one address (an IPv6 /64 is one), server.trustedProxies excepted; at the limit idle ones are closed for new ones.',
      default: 1000,
      min: 1,
      max: 1_000_000,
    }),
    handshakesMax: integer({
      flag: 'handshakes-max',
      description: 'Most TLS handshakes in progress; stalled ones are closed for new ones.',
      default: 2000,
      min: 1,
      max: 1_000_000,
    }),
    handshakesPerAddressMax: integer({
      flag: 'handshakes-per-address-max',
      description: 'Most TLS handshakes in progress from one address, server.trustedProxies excepted.',
      default: 500,
      min: 1,
      max: 1_000_000,
    }),
    headerSecondsMax: seconds({
      flag: 'header-seconds-max',
      description: 'How long a client may take to send its header fields.',
      default: 30,
      min: 0.1,
      max: daySeconds,
    }),
    headerFieldsMax: integer({
      flag: 'header-fields-max',
      description: 'Most header fields in one request.',
      default: 200,
      min: 8,
      max: 10_000,
    }),
    stallSecondsMax: seconds({
      flag: 'stall-seconds-max',
      description:
        'How long a client may send next to nothing of a request, or read nothing of an answer, while the server waits for it.',
      default: 30,
      min: 0.1,
      max: daySeconds,
    }),
    bodyBytesPerSecondMin: integer({
      flag: 'body-bytes-per-second-min',
      description:
        'Bytes of content per second that a client must send of a body, or of a message of a stream, on average between two checks `http.stallSecondsMax` apart; slower requests are ended.',
      default: 512,
      min: 0,
      max: GiB,
    }),
    bodySecondsMax: seconds({
      flag: 'body-seconds-max',
      description: 'How long a client may take to send a body.',
      default: 4 * 3600,
      min: 0.1,
      max: 30 * daySeconds,
    }),
    keepAliveSecondsMax: seconds({
      flag: 'keep-alive-seconds-max',
      description: 'How long a connection may stay open without a request.',
      default: 75,
      min: 0.1,
      max: daySeconds,
    }),
    corsOrigins: origins({
      flag: 'cors-origins',
      description:
        'Web pages of these origins may run inference from a browser, by fetch, WebSocket, server-sent events, gRPC-Web and Connect; they may never manage.',
      default: [],
    }),
  },
  memory: {
    bytesMax: byteSize({
      flag: 'memory-bytes-max',
      description:
        'Memory for requests: bodies and messages that arrive, their decompressed content, requests that wait, and answers that are not sent yet. Each caller has a fair share. 0: 2 GiB, or as much as `http.bodyBytesMax` needs.',
      default: 0,
      min: 0,
    }),
    freeBytesMax: byteSize({
      flag: 'memory-free-bytes-max',
      description:
        'Most memory of large bodies (64 KiB to 16 MiB) that is kept, when they are answered, for the next ones; more is freed at once, and what nobody needs for 10 s is freed too. It comes on top of `memory.bytesMax`.',
      default: 64 * MiB,
      min: 0,
    }),
    poison: boolean({
      flag: 'memory-poison',
      description:
        'Overwrite the memory of large bodies when it is released, and check that nobody wrote to it when it is used again: for tests of the server itself. It costs throughput.',
      default: false,
    }),
    waitSecondsMax: seconds({
      flag: 'memory-wait-seconds-max',
      description:
        'How long a request waits for memory when its caller already holds its share; then it is refused as `caller-full`.',
      default: 10,
      min: 0.1,
      max: daySeconds,
    }),
  },
  queue: {
    serverRequestsMax: integer({
      flag: 'queue-server-requests-max',
      description: 'Most requests waiting on this server; more are refused as `server-full`.',
      default: 16_384,
      min: 1,
      max: 10_000_000,
    }),
    serverBytesMax: byteSize({
      flag: 'queue-server-bytes-max',
      description: 'Most bytes of inputs waiting on this server; more are refused as `server-full`.',
      default: 1 * GiB,
      min: KiB,
    }),
    callerRequestsMax: integer({
      flag: 'queue-caller-requests-max',
      description: 'Most requests of one caller waiting on this server; more are refused as `caller-full`.',
      default: 4096,
      min: 1,
      max: 10_000_000,
    }),
    waitMsMax: integer({
      flag: 'queue-wait-ms-max',
      description:
        'A request that would wait longer, in milliseconds, is refused as `wait-too-long` when its model sets no limit; 0: no limit.',
      default: 0,
      min: 0,
      max: 86_400_000,
    }),
    modelRequestsMax: integer({
      flag: 'queue-model-requests-max',
      synonyms: ['max-queue-size'],
      description: 'Most requests waiting for one model that sets no limit itself; more are refused as `model-full`.',
      default: 4096,
      min: 1,
      max: 10_000_000,
    }),
    modelBytesMax: byteSize({
      flag: 'queue-model-bytes-max',
      description: 'Most bytes of inputs waiting for one model that sets no limit itself.',
      default: 512 * MiB,
      min: KiB,
    }),
  },
  shadow: {
    requestsMax: integer({
      flag: 'shadow-requests-max',
      description: 'Most copies of requests in progress for shadow versions; more are dropped and counted.',
      default: 64,
      min: 0,
      max: 100_000,
    }),
    bytesMax: byteSize({
      flag: 'shadow-bytes-max',
      description:
        'Most memory for the inputs of copies in progress for shadow versions; more are dropped and counted.',
      default: 128 * MiB,
      min: 0,
    }),
  },
  store: {
    path: folder({
      flag: 'store-path',
      synonyms: ['store', 'data-dir', 'state-dir'],
      description:
        'Folder for what must outlive the server: labels, splits, shadows, explicit loads, pins, durable streams. One server at a time.',
      default: '',
    }),
    synced: boolean({
      flag: 'store-synced',
      synonyms: ['fsync'],
      description:
        'Write each change to the disk before it is acknowledged, so that it survives a power failure; without it, a change survives only a crash of the server.',
      default: true,
    }),
  },
  streams: {
    defaultContext: contextName({
      flag: 'default-context',
      description:
        'The context of calls of `inference.v1` and `realtime.inference` that name none: a model, model:version or model@label; empty: they must name one.',
      default: 'storyteller',
    }),
    durability: choice({
      flag: 'stream-durability',
      description:
        'What the journal of streams survives: `none`, only lost connections and workers; `process`, the death of the server too; `power`, also a power failure, at the cost of a write to the disk before each answer.',
      default: 'process',
      choices: ['none', 'process', 'power'],
      placeholder: 'LEVEL',
    }),
    openMax: integer({
      flag: 'streams-max',
      description: 'Most streams that are open at once, those without a client included; one more is refused.',
      default: 20_000,
      min: 1,
      max: 1_000_000,
    }),
    openPerCallerMax: integer({
      flag: 'streams-per-caller-max',
      description:
        'Most streams that one caller may have open; beside others it gets the same fraction of what they leave. Above `openMax`: 60 % of it.',
      default: 12_000,
      min: 1,
      max: 1_000_000,
    }),
    resumeSeconds: seconds({
      flag: 'stream-resume-seconds',
      description: 'How long a stream without a client waits for it; then it ends as expired.',
      default: 120,
      min: 1,
      max: daySeconds,
    }),
    lifeSecondsMax: seconds({
      flag: 'stream-life-seconds-max',
      description: 'A stream ends as expired after this time, whoever is connected.',
      default: daySeconds,
      min: 1,
      max: 30 * daySeconds,
    }),
    restoreDeathsMax: integer({
      flag: 'stream-restore-deaths-max',
      description:
        'A stream is ended as poison-stream when so many routers crashed while they restored it from the journal and nothing else. Routers that were killed from outside do not count.',
      default: 3,
      min: 1,
      max: 100,
    }),
    drainSecondsMax: seconds({
      flag: 'stream-drain-seconds-max',
      description: 'How long a replaced or unloaded version stays for the streams that were opened with it.',
      default: 300,
      min: 0,
      max: daySeconds,
    }),
    probeSecondsMax: seconds({
      flag: 'stream-probe-seconds-max',
      description:
        'Longest probe of a stateful model before its first stream opens: whether steps give the same bits alone, in company and again. Without a result its streams are shown as exact: false, and their steps run alone.',
      default: 10,
      min: 0.1,
      max: 3600,
    }),
    creditMessages: integer({
      flag: 'stream-credit-messages',
      description: 'Outputs sent ahead to a client that gives no credit of its own.',
      default: 256,
      min: 1,
      max: 1_000_000,
    }),
    creditBytes: byteSize({
      flag: 'stream-credit-bytes',
      description: 'The same in bytes of payload.',
      default: MiB,
      min: 1,
      max: GiB,
    }),
    inputBytesMax: byteSize({
      flag: 'stream-input-bytes-max',
      description: 'Largest payload of one input.',
      default: 4 * MiB,
      min: 1,
      max: 4 * MiB,
    }),
    retainedOutputsMax: integer({
      flag: 'stream-retained-outputs-max',
      description: 'Outputs that are kept for a client that resumes; older ones are refused as output-expired.',
      default: 10_000,
      min: 1,
      max: 1_000_000,
    }),
    retainedBytesMax: byteSize({
      flag: 'stream-retained-bytes-max',
      description: 'The same in bytes of payload.',
      default: 4 * MiB,
      min: 1,
      max: GiB,
    }),
    lateInputs: choice({
      flag: 'stream-late-inputs',
      description:
        'What becomes of an input whose event time is before the watermark: `apply` it, `drop` it and answer with an empty output, or `refuse`, which ends the stream.',
      default: 'apply',
      choices: ['apply', 'drop', 'refuse'],
      placeholder: 'POLICY',
    }),
    latenessSecondsMax: seconds({
      flag: 'stream-lateness-seconds-max',
      description: 'How far the watermark is behind the latest event time; 0: no input is late.',
      default: 0,
      min: 0,
      max: daySeconds,
    }),
    streamBytesMax: byteSize({
      flag: 'stream-journal-bytes-max',
      description: 'Most bytes of the journal of one stream; at the limit the stream ends as journal-full.',
      default: 64 * MiB,
      min: MiB,
      max: 64 * GiB,
    }),
    journalBytesMax: byteSize({
      flag: 'journal-bytes-max',
      description:
        'Most bytes of the journals of all streams together. A caller may hold F² / S of them, where F of the S bytes for entries (90 %) are free: 38 % if there is no other.',
      default: GiB,
      min: MiB,
      max: 1024 * GiB,
    }),
    journalWaitSecondsMax: seconds({
      flag: 'stream-journal-wait-seconds-max',
      description:
        'How long a stream that has work waits while the streams of its caller hold their share of the journal; then it ends as journal-full.',
      default: 60,
      min: 1,
      max: daySeconds,
    }),
  },
  cache: {
    bytesMax: byteSize({
      flag: 'cache-bytes-max',
      synonyms: ['cache-size', 'response-cache-byte-size'],
      description: 'Most memory for results of models with `response_cache`; 0 keeps none and every request runs.',
      default: 256 * MiB,
      min: 0,
      max: 64 * GiB,
    }),
    entryBytesMax: byteSize({
      flag: 'cache-entry-bytes-max',
      description: 'Largest result that is kept.',
      default: 4 * MiB,
      min: 1,
      max: 2 * GiB - 1,
    }),
    ageSecondsMax: seconds({
      flag: 'cache-age-seconds-max',
      synonyms: ['cache-max-age-seconds', 'cache-ttl'],
      description: 'How long a result may be served; 0: until it makes room for another, or its model is loaded again.',
      default: 0,
      min: 0,
      max: 365 * daySeconds,
    }),
  },
  worker: {
    lane: choice({
      flag: 'lane',
      description: 'Where models run: in worker processes on this host, or inline in the server process.',
      default: 'local',
      choices: ['local', 'inline'],
      placeholder: 'LANE',
    }),
    threads: integerOrAuto({
      flag: 'worker-threads',
      synonyms: ['threads', 'intra-op-threads'],
      description: 'Threads of a model that sets no number itself; auto divides the cores among the workers.',
      default: 'auto',
      min: 1,
      max: 1024,
    }),
    gpusMax: integerOrAuto({
      flag: 'gpus-max',
      synonyms: ['gpus'],
      description: 'GPUs that models may run on; auto: all GPUs of the system. 0 runs every model on the CPU.',
      default: 'auto',
      min: 0,
      max: 64,
    }),
    runSecondsMax: seconds({
      flag: 'run-seconds-max',
      description: 'How long one batch may run when its model sets no limit; a worker that takes longer is replaced.',
      default: 60,
      min: 0.001,
      max: daySeconds,
    }),
    loadSecondsMax: seconds({
      flag: 'load-seconds-max',
      synonyms: ['model-load-timeout'],
      description:
        'How long a worker may take to load its models, warm-up included; one that takes longer is replaced.',
      default: 300,
      min: 0.001,
      max: daySeconds,
    }),
    sharing: boolean({
      flag: 'share-workers',
      description:
        'Run small models (files up to 16 MiB, loads up to 100 ms, runs up to 5 ms) in worker processes that hold several; without it each has its own.',
      default: true,
    }),
    standby: integer({
      flag: 'worker-standby',
      description:
        'Processes of each kind of worker in use (for graphs, pipelines, generators) that are kept started without a model: after the death of a worker the next one only has to load its models. 0: none.',
      default: 1,
      min: 0,
      max: 8,
    }),
    sharedMemory: boolean({
      flag: 'shared-memory',
      description: 'Pass tensors to worker processes in shared memory; without it they are sent over a socket.',
      default: true,
    }),
    sharedMemoryBytes: byteSize({
      flag: 'shared-memory-bytes',
      description: 'Shared memory of each worker, allocated as it is needed.',
      default: 256 * MiB,
      min: MiB,
      max: 64 * GiB,
    }),
    sockets: socketPaths({
      flag: 'worker-socket',
      description:
        'Sockets of workers that run on their own (`millrace-worker`) and that other servers may share: models run there, and this server starts no workers. Empty: it starts its own.',
      default: [],
    }),
    niceness: integer({
      flag: 'worker-niceness',
      synonyms: ['nice'],
      description:
        'How much lower the scheduling priority of worker processes is than that of the server, as with `nice`: where they share cores, requests are read while models run. 0: the same.',
      default: 0,
      min: 0,
      max: 19,
    }),
    generatorNiceness: integer({
      flag: 'generator-niceness',
      description:
        'The same for workers of generators, which compute without a pause while there are texts; the larger of the two holds.',
      default: 5,
      min: 0,
      max: 19,
    }),
    user: account({
      flag: 'worker-user',
      synonyms: ['user', 'run-as'],
      description:
        'User that worker processes, and processes that read models, run as; needs a server that runs as root. Empty: the user of the server.',
      default: '',
      placeholder: 'USER',
    }),
    group: account({
      flag: 'worker-group',
      synonyms: ['group'],
      description: 'Group that they run as; empty: the group of `worker.user`.',
      default: '',
      placeholder: 'GROUP',
    }),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, AnyField>>>>;

// biome-ignore lint/suspicious/noExplicitAny: a field is invariant in its value, and a table holds fields of every kind
export type AnyField = ConfigField<any>;

type ValueOf<F> = F extends ConfigField<infer T> ? T : never;

/** Complete, checked and frozen: the only form of configuration that code reads. */
export type Config = {
  readonly [Group in keyof typeof fields]: {
    readonly [Name in keyof (typeof fields)[Group]]: ValueOf<(typeof fields)[Group][Name]>;
  };
};

/** Options given in code: any part of the configuration. */
export type Options = {
  readonly [Group in keyof Config]?: { readonly [Name in keyof Config[Group]]?: Config[Group][Name] | undefined };
};

export interface NamedField {
  /** `group.name`, as in YAML, problems and docs. */
  readonly path: string;
  readonly group: string;
  readonly name: string;
  readonly variable: string;
  readonly field: AnyField;
}

export const configFields: readonly NamedField[] = Object.entries(fields).flatMap(([group, members]) =>
  Object.entries(members).map(([name, field]: [string, AnyField]) => ({
    path: `${group}.${name}`,
    group,
    name,
    variable: `MILLRACE_${field.flag.replaceAll('-', '_').toUpperCase()}`,
    field,
  })),
);

export const configFlag = 'config';
export const configVariable = 'MILLRACE_CONFIG';
