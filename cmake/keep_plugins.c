/* Linked into the programs of the AddressSanitizer build. Open MPI unloads its plugins when it ends;
 * what they leaked then has no module name left that lsan.supp could match. So they stay loaded. */
__attribute__((visibility("default"))) int dlclose(void *handle);

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
