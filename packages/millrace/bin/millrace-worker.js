#!/usr/bin/env node
import { pathToFileURL } from 'node:url';
import { programs } from '../dist/programs.js';

await import(pathToFileURL(programs.attachedWorker).href);
