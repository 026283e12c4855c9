import type { DescFile } from '@bufbuild/protobuf';
import type { RpcService } from '@millrace/http';

/** A service beside inference that shares its port, its health and its reflection. */
export interface AddedService {
  readonly service: RpcService;
  /** Declares it. */
  readonly file: DescFile;
  /** Ends the calls that would last as long as the server. */
  end(): void;
}
