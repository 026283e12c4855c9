import type { DescFile } from '@bufbuild/protobuf';
import type { RpcService } from '@millrace/http';

/** A service beside inference that shares its port, its health and its reflection. */
export interface AddedService {
  readonly service: RpcService;
  /** Declares it. */
  readonly file: DescFile;
  /** Ends the calls that have no end of their own. */
  end(): void;
}
