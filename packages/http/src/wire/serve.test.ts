import { contractServerOverHttp1 } from '../exchange-contract/http1-client.ts';
import { contractServerOverHttp2 } from '../exchange-contract/http2-client.ts';
import { describeExchange } from '../exchange-contract.ts';
import { serveHttp } from './serve.ts';

describeExchange('HTTP/1.1 on plain sockets', async (handler, onError) =>
  contractServerOverHttp1(await serveHttp(handler, { onError })),
);

describeExchange('HTTP/2 on plain sockets', async (handler, onError) =>
  contractServerOverHttp2(await serveHttp(handler, { onError })),
);
