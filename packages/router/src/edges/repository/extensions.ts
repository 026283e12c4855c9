/** What Triton's server metadata calls the means to load and unload models. */
export const repositoryExtensions: readonly string[] = ['model_repository', 'model_repository(unload_dependents)'];
