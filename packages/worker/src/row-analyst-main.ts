/** The program of the row analysis that a server starts: it confines itself first, because the graphs that it reads may be hostile. */
import { confineChild } from '@millrace/shared-memory';

confineChild();
await import('@millrace/onnx/row-analyst-main');
