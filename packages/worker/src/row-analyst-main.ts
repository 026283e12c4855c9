/** The program of the row analysis as a server starts it: confined first, for the graphs that it reads may be hostile. */
import { confineChild } from '@millrace/shared-memory';

confineChild();
await import('@millrace/onnx/row-analyst-main');
