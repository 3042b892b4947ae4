# Installs smx to a folder of its own, then configures, builds and runs the project beside this file as a user would.
# cmake -D SMX_BUILD=... -D SCRATCH=... -D CXX=... -D NVCC=... -D ARCHITECTURE=... -P run.cmake
function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "${said}failed (${code}): ${ARGV}")
    endif()
    set(said "${said}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${SMX_BUILD} --prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CUDA_COMPILER=${NVCC}
    -DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURE})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/inference_engine)
message("${said}")
