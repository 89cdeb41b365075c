// One call of a kernel. Registers that the platform's calling convention leaves to the caller hold numbers of ours
// meanwhile, and are compared afterwards, with the stack's place, the rounding mode, the masks of exceptions, flags that
// change what instructions do, and whether x87 registers were left in use (as by MMX without `emms`): a kernel that
// changes them would spoil whoever calls it. Flushing small numbers to 0 is left to kernels.
#include "native.h"

extern "C" __attribute__((visibility("hidden"))) void* g_called_from;
void* g_called_from;

#if defined(__x86_64__)
asm(".text\n.balign 64\n.globl call_kernel\n.hidden call_kernel\n.type call_kernel, @function\ncall_kernel:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "subq $24, %rsp\nstmxcsr (%rsp)\nfnstcw 8(%rsp)\n"
    "subq $80, %rsp\nmovq %rsp, g_called_from(%rip)\n"
    ".irp k, 0, 8, 16, 24, 32, 40, 48, 56, 64, 72\nmovq 48+\\k(%rdi), %rax\nmovq %rax, \\k(%rsp)\n.endr\n"
    "leaq 1(%rsp), %rbx\nleaq 2(%rsp), %rbp\nleaq 3(%rsp), %r12\n"
    "leaq 4(%rsp), %r13\nleaq 5(%rsp), %r14\nleaq 6(%rsp), %r15\n"
    "movq %rsi, %r10\nmovq 40(%rdi), %r9\nmovq 32(%rdi), %r8\nmovq 24(%rdi), %rcx\nmovq 16(%rdi), %rdx\n"
    "movq 8(%rdi), %rsi\nmovq (%rdi), %rdi\n"
    "call *%r10\n"
    "movq g_called_from(%rip), %rcx\nxorl %eax, %eax\n"
    "cmpq %rsp, %rcx\njne 1f\n"
    "leaq 1(%rcx), %rdx\ncmpq %rdx, %rbx\njne 1f\n"
    "leaq 2(%rcx), %rdx\ncmpq %rdx, %rbp\njne 1f\n"
    "leaq 3(%rcx), %rdx\ncmpq %rdx, %r12\njne 1f\n"
    "leaq 4(%rcx), %rdx\ncmpq %rdx, %r13\njne 1f\n"
    "leaq 5(%rcx), %rdx\ncmpq %rdx, %r14\njne 1f\n"
    "leaq 6(%rcx), %rdx\ncmpq %rdx, %r15\njne 1f\n"
    "stmxcsr 96(%rcx)\nmovl 96(%rcx), %edx\nxorl 80(%rcx), %edx\ntestl $0x7f80, %edx\njne 1f\n"
    "fnstcw 96(%rcx)\nmovw 96(%rcx), %dx\ncmpw 88(%rcx), %dx\njne 1f\n"
    // Direction, nested-task and alignment-check flags clear, and no x87 or MMX register in use.
    "pushfq\npopq %rdx\ntestl $0x44400, %edx\njne 1f\n"
    "fnstenv -64(%rcx)\ncmpw $0xffff, -56(%rcx)\njne 1f\nfldcw 88(%rcx)\n"
    "incl %eax\n"
    "1: leaq 104(%rcx), %rsp\ncld\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size call_kernel, . - call_kernel\n");
#elif defined(__aarch64__)
asm(".text\n.balign 64\n.globl call_kernel\n.hidden call_kernel\n.type call_kernel, %function\ncall_kernel:\n"
    "stp x29, x30, [sp, #-176]!\nmov x29, sp\n"
    "stp x19, x20, [sp, #16]\nstp x21, x22, [sp, #32]\nstp x23, x24, [sp, #48]\nstp x25, x26, [sp, #64]\n"
    "stp x27, x28, [sp, #80]\nstp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
    "stp d14, d15, [sp, #144]\nmrs x9, fpcr\nstr x9, [sp, #160]\n"
    "sub sp, sp, #64\nadrp x9, g_called_from\nstr x29, [x9, :lo12:g_called_from]\nmov x16, x1\n"
    ".irp k, 0, 16, 32, 48\nldp x10, x11, [x0, #64+\\k]\nstp x10, x11, [sp, #\\k]\n.endr\n"
    "add x19, x29, #1\nadd x20, x29, #2\nadd x21, x29, #3\nadd x22, x29, #4\n"
    "add x23, x29, #5\nadd x24, x29, #6\nadd x25, x29, #7\nadd x26, x29, #8\n"
    "add x27, x29, #9\nadd x28, x29, #10\n"
    "fmov d8, x19\nfmov d9, x20\nfmov d10, x21\nfmov d11, x22\n"
    "fmov d12, x23\nfmov d13, x24\nfmov d14, x25\nfmov d15, x26\n"
    "ldp x2, x3, [x0, #16]\nldp x4, x5, [x0, #32]\nldp x6, x7, [x0, #48]\nldp x0, x1, [x0]\n"
    "blr x16\n"
    "adrp x9, g_called_from\nldr x9, [x9, :lo12:g_called_from]\n"
    "add x10, sp, #64\ncmp x10, x9\nccmp x29, x9, #0, eq\n"
    "add x11, x9, #1\nccmp x19, x11, #0, eq\nadd x11, x9, #2\nccmp x20, x11, #0, eq\n"
    "add x11, x9, #3\nccmp x21, x11, #0, eq\nadd x11, x9, #4\nccmp x22, x11, #0, eq\n"
    "add x11, x9, #5\nccmp x23, x11, #0, eq\nadd x11, x9, #6\nccmp x24, x11, #0, eq\n"
    "add x11, x9, #7\nccmp x25, x11, #0, eq\nadd x11, x9, #8\nccmp x26, x11, #0, eq\n"
    "add x11, x9, #9\nccmp x27, x11, #0, eq\nadd x11, x9, #10\nccmp x28, x11, #0, eq\n"
    "add x11, x9, #1\nfmov x12, d8\nccmp x12, x11, #0, eq\nadd x11, x9, #2\nfmov x12, d9\nccmp x12, x11, #0, eq\n"
    "add x11, x9, #3\nfmov x12, d10\nccmp x12, x11, #0, eq\nadd x11, x9, #4\nfmov x12, d11\nccmp x12, x11, #0, eq\n"
    "add x11, x9, #5\nfmov x12, d12\nccmp x12, x11, #0, eq\nadd x11, x9, #6\nfmov x12, d13\nccmp x12, x11, #0, eq\n"
    "add x11, x9, #7\nfmov x12, d14\nccmp x12, x11, #0, eq\nadd x11, x9, #8\nfmov x12, d15\nccmp x12, x11, #0, eq\n"
    "mrs x12, fpcr\nldr x13, [x9, #160]\neor x12, x12, x13\nmov w14, #0x9f00\nmovk w14, #0xc0, lsl #16\nand x12, x12, x14\n"
    "ccmp x12, #0, #0, eq\ncset w0, eq\nmov sp, x9\n"
    "ldp x19, x20, [sp, #16]\nldp x21, x22, [sp, #32]\nldp x23, x24, [sp, #48]\nldp x25, x26, [sp, #64]\n"
    "ldp x27, x28, [sp, #80]\nldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
    "ldp d14, d15, [sp, #144]\nldp x29, x30, [sp], #176\nret\n"
    ".size call_kernel, . - call_kernel\n");
#endif
